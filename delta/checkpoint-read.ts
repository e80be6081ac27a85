/** Reads checkpoint files: classic, one part of several, or V2 (PROTOCOL.md, "Checkpoints"). */

import { LabError } from "../core/errors.ts";
import { readColumns } from "./checkpoint-columns.ts";
import { type CheckpointRow, toRow } from "./checkpoint-row.ts";
import { parseJson } from "./json.ts";

/** The rows of a checkpoint file, some at a time. CORRUPT_LOG where it cannot be read. */
export async function* readCheckpoint(bytes: Uint8Array, path: string): AsyncGenerator<CheckpointRow[]> {
  try {
    if (path.endsWith(".json")) yield readJsonRows(bytes);
    else {
      const rows = readColumns(bytes, { damaged: (cause) => damaged(path, cause) });
      if (rows) yield* rows;
      // Loaded only where it is needed: it takes longer than to read a checkpoint.
      else yield* (await import("./checkpoint-arrow.ts")).readThroughArrow(bytes);
    }
  } catch (cause) {
    throw damaged(path, cause);
  }
}

function damaged(path: string, cause: unknown): LabError {
  if (cause instanceof LabError) return cause;
  const why = cause instanceof Error ? cause.message : String(cause);
  return new LabError("CORRUPT_LOG", `checkpoint ${path} cannot be read: ${why}`, {
    hint: "restore it from a copy; where all commits are there, removing it is enough",
    details: { path },
    cause,
  });
}

function readJsonRows(bytes: Uint8Array): CheckpointRow[] {
  const rows: CheckpointRow[] = [];
  for (const line of Buffer.from(bytes).toString("utf8").split("\n")) {
    if (line.trim() === "") continue;
    const json = parseJson(line) as Record<string, unknown>;
    const row = toRow(json);
    if (row) rows.push(row);
  }
  return rows;
}
