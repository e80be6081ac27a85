/** Rows as JSON objects: one array, or one object a line. */

import type { Column, Value } from "../../engine/result.ts";
import { type Cell, toCell } from "../cells.ts";
import type { Output, Rows } from "./format.ts";

/** An array with one object a line. */
export async function writeJson(rows: Rows, output: Output): Promise<void> {
  const object = toObject(rows.columns);
  let separator = "[\n";
  for await (const chunk of rows.chunks) {
    if (chunk.length === 0) continue;
    await output.write(separator + chunk.map((row) => JSON.stringify(object(row))).join(",\n"));
    separator = ",\n";
  }
  await output.write(separator === ",\n" ? "\n]\n" : "[]\n");
}

/** One object a line. */
export async function writeNdjson(rows: Rows, output: Output): Promise<void> {
  const object = toObject(rows.columns);
  for await (const chunk of rows.chunks) {
    await output.write(chunk.map((row) => `${JSON.stringify(object(row))}\n`).join(""));
  }
}

/** A row by its column names; the second `x` of a row is `x_1`, so that no value is lost. */
export function toObject(columns: readonly Column[]): (row: readonly Value[]) => Record<string, Cell> {
  const taken = new Set<string>();
  const fields = columns.map(({ name, type }) => {
    let free = name;
    for (let n = 1; taken.has(free); n++) free = `${name}_${n}`;
    taken.add(free);
    return { name: free, cell: toCell(type) };
  });
  return (row) => Object.fromEntries(fields.map(({ name, cell }, index) => [name, cell(row[index] ?? null)]));
}
