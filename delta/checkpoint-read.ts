/** Reads checkpoint files: classic, one part of several, or V2 (PROTOCOL.md, "Checkpoints"). */

import { LabError } from "../core/errors.ts";
import { readColumns } from "./checkpoint-columns.ts";
import { type RowSink, toRow } from "./checkpoint-row.ts";
import { parseJson } from "./json.ts";

/** Gives all rows of a checkpoint file to `sink`. CORRUPT_LOG where it cannot be read; a LabError of the sink's goes to the caller. */
export async function readCheckpoint(
  bytes: Uint8Array,
  path: string,
  sink: RowSink,
  signal?: AbortSignal,
): Promise<void> {
  try {
    if (path.endsWith(".json")) return readJsonRows(bytes, sink);
    const options = { packed: { damaged: (cause: unknown) => damaged(path, cause) }, signal };
    if (await readColumns(bytes, sink, options)) return;
    // Loaded only where it is needed: it takes longer than to read a checkpoint.
    const { readThroughArrow } = await import("./checkpoint-arrow.ts");
    for await (const rows of readThroughArrow(bytes)) {
      signal?.throwIfAborted();
      for (const row of rows) sink.row(row);
    }
  } catch (cause) {
    signal?.throwIfAborted();
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

function readJsonRows(bytes: Uint8Array, sink: RowSink): void {
  for (const line of Buffer.from(bytes).toString("utf8").split("\n")) {
    if (line.trim() === "") continue;
    const json = parseJson(line) as Record<string, unknown>;
    const row = toRow(json);
    if (row) sink.row(row);
  }
}
