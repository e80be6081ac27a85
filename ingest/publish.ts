/**
 * From encoded chunks to a committed version. The order is the guarantee: files, then letters, then routed rows, then one commit that
 * holds rows and positions together. A crash at any point leaves either nothing of it or all of it, or what the next start knows how
 * to go on from (SPEC.md, "Commit").
 */

import { LabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { dataFilePath } from "../delta/partition-path.ts";
import { encodePath } from "../delta/path.ts";
import { requireStanding } from "../delta/standing.ts";
import type { EncodedFile } from "../engine/encoder.ts";
import { type Letter, type PartitionCounts, sumCounts } from "./chunk.ts";
import type { Opened } from "./destination.ts";
import { outlast, overtaken, type PublishInput, type Rejected } from "./publish-input.ts";
import { settleLetters } from "./publish-letters.ts";
import { commitRouted, nameRoutes, type Routed, routesOfFiles } from "./publish-routed.ts";
import { evolvedMetadata, labInfo, rowsRequest } from "./rows-request.ts";

export type Published =
  | {
      kind: "committed";
      rows: Opened | null;
      letters: Opened | null;
      /** The routed tables that this wrote to, as they are now. */
      routed: readonly Opened[];
    }
  | Rejected;

export async function publish(input: PublishInput): Promise<Published> {
  const { chunks, signal, onStep } = input;
  const early = input.rows && overtaken(input, input.rows);
  if (early) return early;
  onStep("before-upload");
  const startedMs = input.now();
  const files = chunks.flatMap((chunk) => chunk.files);
  const routes = routesOfFiles(files);
  const named = input.rows && routes.length > 0 ? await nameRoutes(input, input.rows, routes) : null;
  if (named?.kind === "rejected") return named;
  const rows = named?.rows ?? input.rows;
  const adds = rows
    ? await upload(
        input,
        rows,
        files.filter((file) => file.route === undefined),
      )
    : [];
  const routed: Routed[] = [];
  for (const { route, opened } of named?.tables ?? []) {
    const its = files.filter((file) => file.route === route);
    routed.push({ route, opened, adds: await upload(input, opened, its), files: its });
  }
  onStep("after-upload");
  for (const opened of [rows, input.letters, ...routed.map((one) => one.opened)])
    if (opened) await outlast(input, () => requireStanding(opened.table, opened.snapshot, signal));
  const bad = chunks.flatMap((chunk) => chunk.letters);
  const lettered = await settleLetters(input, rows, bad);
  if (lettered.kind === "rejected") return lettered;
  const { letters } = lettered;
  onStep("after-letters");
  if (!rows) return { kind: "committed", rows: null, letters, routed: [] };
  const lost = routed.length > 0 ? await commitRouted(input, rows, routed, startedMs) : null;
  if (lost) return lost;
  const { table, snapshot } = rows;
  const counts = sumCounts(chunks);
  const request = rowsRequest(input, rows, {
    adds,
    rows: sumOf(counts, (one) => one.rows),
    letters: sumOf(counts, (one) => one.letters),
    metadata: evolvedMetadata(input, snapshot.metadata),
    lab: labInfo(input, counts),
    startedMs,
  });
  const result = await table.commit(request, signal);
  if (result.kind === "conflict") return { kind: "rejected", reason: result.reason, message: result.message };
  onStep("after-commit");
  return {
    kind: "committed",
    rows: { table, snapshot: result.snapshot },
    letters,
    routed: routed.map((one) => one.opened),
  };
}

function sumOf(counts: ReadonlyMap<number, PartitionCounts>, pick: (one: PartitionCounts) => number): number {
  return [...counts.values()].reduce((sum, one) => sum + pick(one), 0);
}

async function upload(
  input: PublishInput,
  { table, snapshot }: Opened,
  files: readonly EncodedFile[],
): Promise<Add[]> {
  const adds: Add[] = [];
  for (const file of files) {
    const path = dataFilePath(snapshot.partitionColumns, file.partitionValues);
    await outlast(input, () => table.store.put(path, { file: file.file }, input.signal));
    adds.push({
      path: encodePath(path),
      partitionValues: file.partitionValues,
      size: file.size,
      modificationTime: input.now(),
      dataChange: true,
      stats: file.stats,
    });
  }
  return adds;
}

/** Stops at the first bad record where the user asked for that. */
export function refuseLetters(letters: readonly Letter[]): void {
  const first = letters[0];
  if (!first) return;
  throw new LabError(
    "BAD_RECORD",
    `${first.topic}-${first.partition} offset ${first.offset}: ${first.message} (${first.stage}, ${first.code})`,
    {
      hint: "let bad records go to the dead-letter table: --on-bad-record deadletter; they can be replayed from there",
    },
  );
}
