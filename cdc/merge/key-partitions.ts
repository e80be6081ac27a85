/** Tables whose partitions tell which keys can be in them: one that no key of a batch is in need not be looked into. */

import type { Add } from "../../delta/actions.ts";
import type { Snapshot } from "../../delta/table.ts";
import type { Engine } from "../../engine/instance.ts";
import { quoteName } from "../../engine/instance.ts";
import { derivedOf } from "../../engine/partitioning.ts";
import { stagedRows } from "./key-meet.ts";

/** Whether a row's partition follows from its key: its columns are of the key, or buckets of one. */
export function isPartedByKey(
  { schema, partitionColumns }: Pick<Snapshot, "schema" | "partitionColumns">,
  keyColumns: readonly string[],
): boolean {
  const derived = derivedOf(schema, partitionColumns);
  const isOfKey = (column: string) =>
    keyColumns.includes(column) ||
    derived.some((one) => one.column === column && one.kind === "bucket" && keyColumns.includes(one.of));
  return partitionColumns.length > 0 && partitionColumns.every(isOfKey);
}

/** Types whose values have one text, whoever wrote it, but for zeros before a number. */
const PLAIN: ReadonlySet<unknown> = new Set(["string", "byte", "short", "integer", "long", "date"]);

/** The same, where the texts of partition values can be told apart without reading them as values. */
export function hasPlainPartitions(snapshot: Snapshot, keyColumns: readonly string[]): boolean {
  const typeOf = (column: string) => snapshot.schema.fields.find(({ name }) => name === column)?.type;
  return (
    isPartedByKey(snapshot, keyColumns) &&
    snapshot.partitionColumns.every((column) => PLAIN.has(typeOf(column)))
  );
}

/** Whether a file can hold a key of a staged file's rows. */
export async function partitionsOf(
  session: Engine,
  { partitionColumns }: Snapshot,
  staged: string,
  signal: AbortSignal,
): Promise<(add: Add) => boolean> {
  const columns = partitionColumns.map((name, i) => `${quoteName(name)}::VARCHAR AS p${i}`);
  const rows = await session.rows(`SELECT DISTINCT ${columns.join(", ")} FROM ${stagedRows(staged)}`, {
    signal,
  });
  const wanted = new Set(
    rows.map((row) => textOf(partitionColumns.map((_, i) => row[`p${i}`] as string | null))),
  );
  return ({ partitionValues }) => {
    const values = partitionColumns.map((name) => partitionValues[name] ?? null);
    // What another writer left out, or spelled otherwise, may be any.
    return values.some(isOdd) || wanted.has(textOf(values));
  };
}

const isOdd = (value: string | null) => value === null || /^[+-]?0\d|^\+|^-0|^\s|\s$/.test(value);

const textOf = (values: readonly (string | null)[]) => JSON.stringify(values);
