/** For tests: what a reader of checkpoints hands over, kept. */

import type { Action } from "./actions.ts";
import { readCheckpoint } from "./checkpoint-read.ts";
import type { CheckpointRow } from "./checkpoint-row.ts";
import { packedText, type Slice, sliceText } from "./slice.ts";

/** All rows of a file, with their texts as strings. */
export async function rowsOf(bytes: Uint8Array): Promise<Action[]> {
  const all: Action[] = [];
  await readCheckpoint(bytes, "c.parquet", { row: (row) => all.push(withText(row)) });
  return all;
}

/** The row with its texts as strings. */
export function withText(row: CheckpointRow): Action {
  if (!("add" in row)) return row as Action;
  const { path, stats, ...rest } = row.add;
  const text =
    typeof stats !== "object" ? stats : "block" in stats ? packedText(stats) : sliceText(stats as Slice);
  return {
    add: {
      ...rest,
      path: typeof path === "string" ? path : sliceText(path),
      ...(text === undefined ? {} : { stats: text }),
    },
  };
}
