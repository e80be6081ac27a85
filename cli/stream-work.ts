/** What a stream does with its messages: rows that are added, or changes that are merged. */

import { openMerger } from "../cdc/merge/merger.ts";
import { createMerging } from "../cdc/work.ts";
import { asLabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Encoder } from "../engine/encoder.ts";
import type { StreamOptions } from "../ingest/options.ts";
import { appending, type Work } from "../ingest/work.ts";
import type { ConfiguredStream } from "./stream-options.ts";

/** Commits between two looks for small files to join. */
const COMPACT_EVERY = 20;

export function workFor(
  stream: StreamOptions,
  { memory, threads }: { memory: number; threads: number },
  shared: { encoder: Encoder; stagingDir: string; log: Log },
): Work {
  const { cdc } = stream as ConfiguredStream;
  if (!cdc) return appending;
  const { topic, onBadRecord, onUnknownField, tableUri } = stream;
  const merger = openMerger({
    ...{ encoder: shared.encoder, topic, onUnknownField, threads, now: Date.now },
    scratchDir: shared.stagingDir,
    memoryLimitBytes: memory,
    compactEvery: COMPACT_EVERY,
    onCompactionFailure: (error) =>
      shared.log.warn(
        { event: "compaction", table: tableUri, code: asLabError(error).code },
        `small files were not joined: ${asLabError(error).message}`,
      ),
  });
  return createMerging({ ...cdc, topic, onBadRecord }, merger);
}
