/** Which stored row each row of a staged file meets, by its key. */

import { type Engine, quoteName, quoteText } from "../../engine/instance.ts";
import { numberChunks } from "../../engine/number-chunks.ts";
import { literalPath } from "../../engine/scan.ts";
import type { Found, Located } from "./key-index.ts";
import { hashesOf, type KeyShape } from "./key-rows.ts";
import { createKeyTable, type Entry, type KeyHash, type KeyTable, words } from "./key-table.ts";

/** As a FROM clause, with the number of each row as `file_row_number`. */
export const stagedRows = (file: string) =>
  `read_parquet(${quoteText(literalPath(file))}, file_row_number = true, hive_partitioning = false)`;

/** `keys` has at least those that are in the file. */
export async function meet(
  session: Engine,
  {
    staged,
    key,
    keys,
    located,
  }: { staged: string; key: KeyShape; keys: KeyTable; located: (entry: Entry) => Located },
  signal: AbortSignal,
): Promise<Found> {
  const isKeyless = [
    ...key.columns.map((name) => `${quoteName(name)} IS NULL`),
    ...key.partitioned.map((name) => `${quoteName(name)} = ''`),
  ].join(" OR ");
  const columns = ["file_row_number", `(${isKeyless})`, ...hashesOf(key, { isStaged: true })];
  const stored = new Map<number, Located>();
  const hashes = new Map<number, KeyHash>();
  const [doubled, keyless, twins]: [number[], number[], number[]] = [[], [], []];
  const seen = createKeyTable();
  seen.addFile(0);
  for await (const { rows, columns: chunk } of numberChunks(
    session,
    `SELECT ${columns.map((column) => `coalesce(${column}::BIGINT, 0)`).join(", ")} FROM ${stagedRows(staged)}`,
    signal,
  )) {
    const [places, isNull, one, other] = chunk.map(words);
    for (let i = 0; i < 2 * rows; i += 2) {
      const at = places![i]!;
      if (isNull![i] === 1) {
        keyless.push(at);
        continue;
      }
      const hash: KeyHash = [one![i]!, one![i + 1]!, other![i]!, other![i + 1]!];
      hashes.set(at, hash);
      const twin = seen.find(hash);
      if (twin) twins.push(twin.row, at);
      else seen.put(hash, { file: 0, row: at, order: null, isDeleted: false, missing: [] });
      const entry = keys.find(hash);
      if (entry === undefined) continue;
      stored.set(at, located(entry));
      if (entry.isDoubled) doubled.push(at);
    }
  }
  return { stored, hashes, doubled, twins: [...new Set(twins)], keyless };
}
