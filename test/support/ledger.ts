/**
 * The ledger of design section 4, counted by nobody of ours: the topic by Apache Kafka's Java consumer, the tables by Python
 * deltalake. Messages are `{"id":n,"text":"..."}`; anything else is expected to be a dead letter.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type ReadRecord, readTopic } from "./independent-reader.ts";
import { referee } from "./python.ts";

export type Counted = {
  version: number;
  rows: number;
  distinct: number;
  letters: number;
  distinctLetters: number;
  both: number;
  rowsHash: string;
  lettersHash: string;
};

export type LedgerInput = {
  brokers: readonly string[];
  topic: string;
  tableUri: string;
  storageOptions?: Record<string, string>;
  /** What the topic held in all, where it does not hold it any more; default: what it holds now. */
  records?: readonly ReadRecord[];
  /** What is to become of a record; default: a row where it is an object with id and text, else a letter. */
  verdict?: (record: ReadRecord) => Verdict;
};

export type Verdict = { row: string } | "letter" | "skipped";

/** The equations, and what is missing or too much in them. */
export type Ledger = Counted & {
  /** Records of the topic, by a reader that is not ours. */
  produced: number;
  skipped: number;
  /** produced - rows - letters - skipped, each record counted once. */
  lost: number;
  /** Rows and letters beyond one for each record. */
  doubled: number;
  /** Whether rows and letters hold what the topic holds, by hash. */
  isContentEqual: boolean;
};

/** Counts both sides and judges nothing. */
export async function readLedger(input: LedgerInput): Promise<Ledger> {
  const [records, counted] = await Promise.all([
    input.records ?? readTopic(input.brokers, input.topic),
    countTables(input),
  ]);
  const good: string[] = [];
  const bad: string[] = [];
  for (const record of records) {
    const verdict = (input.verdict ?? verdictOf)(record);
    if (verdict === "letter")
      bad.push(`${record.partition}\t${record.offset}\t${record.value?.toString("hex") ?? "-"}`);
    else if (verdict !== "skipped") good.push(`${record.partition}\t${record.offset}\t${verdict.row}`);
  }
  const { rows, distinct, letters, distinctLetters, both } = counted;
  return {
    ...counted,
    produced: records.length,
    skipped: records.length - good.length - bad.length,
    lost: good.length + bad.length - (distinct + distinctLetters - both),
    doubled: rows - distinct + (letters - distinctLetters) + both,
    isContentEqual: counted.rowsHash === digest(good) && counted.lettersHash === digest(bad),
  };
}

/** Throws unless every record of the topic is exactly once in the rows or in the letters, with its content. */
export async function assertLedger(input: LedgerInput): Promise<Ledger> {
  const ledger = await readLedger(input);
  const { produced, rows, letters, skipped, lost, doubled, isContentEqual } = ledger;
  assert.deepEqual(
    { produced, lost, doubled, isContentEqual },
    { produced: rows + letters + skipped, lost: 0, doubled: 0, isContentEqual: true },
  );
  return ledger;
}

async function countTables(input: {
  tableUri: string;
  storageOptions?: Record<string, string>;
}): Promise<Counted> {
  const options = JSON.stringify(input.storageOptions ?? {});
  return JSON.parse(await referee("ledger.py", [input.tableUri, options, "id", "text"])) as Counted;
}

function verdictOf({ value }: ReadRecord): Verdict {
  try {
    const { id, text } = JSON.parse(value?.toString("utf8") ?? "") as { id: number; text: string };
    return { row: `${id}\t${text}` };
  } catch {
    return "letter";
  }
}

const digest = (lines: string[]) =>
  createHash("sha256")
    .update(
      lines
        .map((line) => Buffer.from(line))
        .sort(Buffer.compare)
        .map(String)
        .join("\n"),
    )
    .digest("hex");
