/** Whether an answer about a version is right: against what other readers agree on. */

import assert from "node:assert/strict";
import { type Answer, digestOf } from "./batch.ts";
import type { Truth } from "./tables.ts";

export type Verdict = { kind: "right" | "refused" | "wrong"; why: string };

/** What a table may need that is refused by name (UNSUPPORTED_FEATURE) instead of read. */
const MAY_REFUSE = /^(variant|catalogManaged|feature:|unknown_protocol_version|collations|geo)/;

const UNREADABLE = [
  "UNSUPPORTED_FEATURE",
  "CORRUPT_LOG",
  "NOT_A_TABLE",
  "VERSION_NOT_FOUND",
  "DATA_FILE_MISSING",
];
const WITHOUT_FILES = ["DATA_FILE_MISSING", "UNSUPPORTED_FEATURE"];

const right: Verdict = { kind: "right", why: "" };
const wrong = (why: string): Verdict => ({ kind: "wrong", why });

/** Judges the rows of a version. */
export function judgeRows(truth: Truth, answer: Answer): Verdict {
  const { ok, code = "no code", message, rows = [] } = answer;
  if (truth.status === "ok") {
    if (!ok) return judgeRefusal(truth, answer);
    if (rows.length !== truth.num_rows) return wrong(`${rows.length} rows, not ${truth.num_rows}`);
    return digestOf(rows) === truth.content_sha256 ? right : wrong(`${rows.length} rows with other values`);
  }
  // No reader was asked for this one: all that is known is the log, and a version without files has no rows.
  if (truth.error_class === "not_run" && truth.num_files === 0)
    return ok && rows.length === 0 ? right : wrong(`${rows.length} rows, ${code}, where there are no files`);
  const codes = truth.error_class === "missing_data_files" ? WITHOUT_FILES : UNREADABLE;
  if (ok) return wrong(`${rows.length} rows where every reader fails (${truth.error_class})`);
  return codes.includes(code) ? right : wrong(`${code} for ${truth.error_class}: ${message}`);
}

/** Judges what the log says of a version: files, bytes, transactions, columns, as far as the truth knows them. */
export function judgeSnapshot(truth: Truth, answer: Answer): Verdict {
  if (!answer.ok) {
    // Where all readers fail the log may be at fault; where only data files are missing it is not.
    const mayFail = truth.status === "error" && truth.error_class !== "missing_data_files";
    return mayFail && UNREADABLE.includes(answer.code ?? "") ? right : judgeRefusal(truth, answer);
  }
  const txn =
    truth.txn && Object.fromEntries(Object.entries(truth.txn).map(([app, at]) => [app, String(at)]));
  const facts: [string, unknown, unknown][] = [
    ["version", truth.version, answer.version],
    ["num_files", truth.num_files, answer.numFiles],
    ["size_bytes", truth.size_bytes?.toString(), answer.sizeBytes],
    ["txn", txn, answer.txn],
    ["schema", truth.schema, answer.schema],
    ["partition_columns", truth.partition_columns, answer.partitionColumns],
  ];
  for (const [name, expected, found] of facts) {
    if (expected === undefined || expected === null) continue;
    if (!isEqual(expected, found))
      return wrong(`${name} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`.slice(0, 400));
  }
  return right;
}

/** Whether the table needs something that may be refused by name. */
export function mayRefuse(truth: Truth): boolean {
  return truth.needs.some((need) => MAY_REFUSE.test(need));
}

function judgeRefusal(truth: Truth, { code = "no code", message = "" }: Answer): Verdict {
  const isAllowed = code === "UNSUPPORTED_FEATURE" && mayRefuse(truth);
  return isAllowed ? { kind: "refused", why: message } : wrong(`refused with ${code}: ${message}`);
}

function isEqual(expected: unknown, found: unknown): boolean {
  try {
    assert.deepEqual(found, expected);
    return true;
  } catch {
    return false;
  }
}
