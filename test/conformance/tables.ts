/** The referees' tables, unpacked into a folder of the test, and what is known of each version of them. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** What readers that are not ours agree on for one version of a table (the suite's README says how it was found). */
export type Truth = {
  table: string;
  version: number;
  is_latest: boolean;
  status: "ok" | "error";
  error_class?: "missing_data_files" | "corrupt_log" | "unsupported_or_invalid" | "not_run";
  /** Reader features and other things that not every reader can. */
  needs: string[];
  num_rows?: number;
  content_sha256?: string;
  num_files?: number | null;
  size_bytes?: number | null;
  txn?: Record<string, number> | null;
  schema?: unknown;
  partition_columns?: string[] | null;
};

const referees = process.env.LAB_REFEREES;

/** Unpacks all tables with the times of their files; whoever asked removes `folder` by `close`. */
export async function unpackTables(): Promise<{ folder: string; truths: Truth[]; close(): Promise<void> }> {
  if (!referees) throw new Error("LAB_REFEREES must name the folder that has conformance/tables.tar.zst");
  const suite = join(referees, "conformance");
  const folder = await mkdtemp(join(tmpdir(), "conformance-"));
  await promisify(execFile)("tar", ["--zstd", "-xf", join(suite, "tables.tar.zst"), "-C", folder]);
  const lines = (await readFile(join(suite, "truth.jsonl"), "utf8")).trim().split("\n");
  return {
    folder,
    truths: lines.map((line) => JSON.parse(line) as Truth),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The versions of each table, in the order of the file. */
export function byTable(truths: readonly Truth[]): Map<string, Truth[]> {
  const tables = new Map<string, Truth[]>();
  for (const truth of truths) tables.set(truth.table, [...(tables.get(truth.table) ?? []), truth]);
  return tables;
}
