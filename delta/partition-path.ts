/** The Hive-style folder of a partition: decoration for people, since values are read from the log only. */

import { randomUUID } from "node:crypto";
import type { PartitionValues } from "./actions.ts";

/** The folder of null and of the empty string, which Delta does not tell apart in partition values. */
const NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__";

/** What Hive escapes in names and values: control characters and what file systems or URIs treat specially. */
const ESCAPED = new Set([...`"#%'*/:=?\\{[]^`, "\u007f"]);

/** Bytes of a folder's name; most file systems end at 255. */
const LONGEST = 240;

/**
 * The folder for `values`, such as `date=2024-01-02/city=a%3Ab`, as it stands on disk; "" for a table without partitions. `encodePath` makes the
 * log's form of it. Long values are cut: two values may then share a folder, which harms nobody.
 */
export function partitionDirectory(columns: readonly string[], values: PartitionValues): string {
  return columns
    .map((column) => {
      const value = values[column];
      return cut(
        `${escapeName(column)}=`,
        value === null || value === undefined || value === "" ? NULL_FOLDER : escapeName(value),
      );
    })
    .join("/");
}

/** A fresh path for a data file of a partition, as stores know it; `encodePath` makes the log's form of it. */
export function dataFilePath(columns: readonly string[], values: PartitionValues): string {
  const directory = partitionDirectory(columns, values);
  const name = `part-00000-${randomUUID()}-c000.zstd.parquet`;
  return directory === "" ? name : `${directory}/${name}`;
}

function escapeName(text: string): string {
  let escaped = "";
  for (const char of text) {
    const code = char.codePointAt(0)!;
    const isEscaped = code < 0x20 || ESCAPED.has(char);
    escaped += isEscaped ? `%${code.toString(16).toUpperCase().padStart(2, "0")}` : char;
  }
  return escaped;
}

/** Whole characters and whole escapes only, so that the name stays valid UTF-8. */
function cut(prefix: string, value: string): string {
  if (Buffer.byteLength(prefix) + Buffer.byteLength(value) <= LONGEST) return prefix + value;
  let kept = prefix;
  for (const [piece] of value.matchAll(/%[0-9A-F]{2}|./gsu)) {
    if (Buffer.byteLength(kept) + Buffer.byteLength(piece) > LONGEST) break;
    kept += piece;
  }
  return kept;
}
