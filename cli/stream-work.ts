/** What streams do with their messages: rows that are added, or changes that are merged. */

import type { Registry } from "prom-client";
import { ASIDE_SUFFIX } from "../cdc/merge/aside.ts";
import { openMerger } from "../cdc/merge/merger.ts";
import { createChangeMetrics } from "../cdc/metrics.ts";
import { requireFitting } from "../cdc/misfit.ts";
import { createMerging } from "../cdc/work.ts";
import { asLabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { openStore } from "../delta/store/open.ts";
import type { Encoder } from "../engine/encoder.ts";
import type { StreamOptions } from "../ingest/options.ts";
import { appending, type Work } from "../ingest/work.ts";
import type { ConfiguredStream } from "./stream-options.ts";

/** Commits between two looks for small files to join. */
const COMPACT_EVERY = 20;
/** Of the keys of one table: some twelve million. */
const INDEX_BYTES = 1024 * 1024 * 1024;

/** For the streams of one process, which share an encoder and a registry of metrics. */
export function createWorks(shared: {
  encoder: Encoder;
  stagingDir: string;
  memory: number;
  threads: number;
  registry: Registry;
  log: Log;
  env: NodeJS.ProcessEnv;
}): (stream: StreamOptions) => Work {
  const { encoder, stagingDir, memory, threads, registry, log, env } = shared;
  let metricsFor: ReturnType<typeof createChangeMetrics> | undefined;
  return (stream) => {
    const { cdc, mayAllBeBad } = stream as ConfiguredStream;
    if (!cdc) return appending;
    const { topic, onBadRecord, onUnknownField, tableUri: table } = stream;
    metricsFor ??= createChangeMetrics(registry);
    const metrics = metricsFor({ topic, table });
    const merger = openMerger({
      ...{ encoder, topic, onUnknownField, threads, now: Date.now, scratchDir: stagingDir },
      ...{ memoryLimitBytes: memory, compactEvery: COMPACT_EVERY },
      indexBytes: cdc.keyMemoryBytes ?? INDEX_BYTES,
      onIndexOver: (bytes) =>
        log.warn(
          { event: "keys-looked-up", table, bytes },
          "the index of the table's keys is larger than cdc.keyMemory lets it be: each commit looks its keys up in the table's files, which takes longer",
        ),
      openAside: ({ store }) =>
        openStore(`${store.root}${ASIDE_SUFFIX}`, { signal: new AbortController().signal, env }),
      onCompactionFailure: (error) =>
        log.warn(
          { event: "compaction", table, code: asLabError(error).code },
          `small files were not joined: ${asLabError(error).message}`,
        ),
    });
    const merging = createMerging(
      {
        ...{ ...cdc, topic, onBadRecord, onUnknownField },
        onMerged: (told) => {
          metrics.merged(told);
          log.info({ event: "merged", topic, table, ...told }, "merged");
          if (told.uncertain > 0)
            log.warn(
              { event: "order-uncertain", topic, table, changes: told.uncertain },
              "nothing proves which of these changes and what was there before is newer: Kafka's order counts, as after a failover",
            );
        },
        onUnordered: () =>
          log.warn(
            { event: "unordered", topic, table },
            "changes come without a position in their source: only Kafka's offsets order them, and what is sent again wins",
          ),
        onUnswept: () =>
          log.warn(
            { event: "unswept", topic, table },
            "a snapshot has ended that does not say its position in its source or its table: rows that are older than it are not known, and none is deleted",
          ),
      },
      merger,
    );
    return mayAllBeBad ? merging : requireFitting(merging, { ...cdc, topic, once: stream.once });
  };
}
