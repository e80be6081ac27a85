/** A merging stream over the Kafka in memory, and the messages that it is told. */

import type { TestContext } from "node:test";
import { ASIDE_SUFFIX } from "../../cdc/merge/aside.ts";
import { openMerger } from "../../cdc/merge/merger.ts";
import { createMerging, type MergingOptions } from "../../cdc/work.ts";
import { openStore } from "../../delta/store/open.ts";
import type { StreamOptions } from "../../ingest/options.ts";
import type { OutgoingRecord } from "../../kafka/ports.ts";
import { type Fixture, streamFixture, type Worker } from "./stream-fixture.ts";

const { signal } = new AbortController();

type Told = {
  cdc?: Partial<MergingOptions>;
  options?: Partial<StreamOptions>;
  more?: Parameters<Fixture["start"]>[1];
};

/** Merges topic `t` to its end, unless it is told otherwise. */
export function start(fixture: Fixture, { cdc = {}, options = {}, more = {} }: Told = {}): Worker {
  const { onBadRecord = "deadletter" } = options;
  return fixture.start(
    { once: true, metadata: false, ...options },
    {
      ...more,
      work: (encoder, scratchDir) =>
        createMerging(
          {
            format: "debezium",
            deletes: "hidden",
            topic: "t",
            onBadRecord,
            onUnknownField: "add",
            onMerged: () => {},
            onUnordered: () => {},
            onUnswept: () => {},
            ...cdc,
          },
          openMerger({
            ...{ encoder, scratchDir, memoryLimitBytes: 256 << 20, threads: 1, topic: "t" },
            ...{ onUnknownField: "add", now: Date.now, compactEvery: 5 },
            ...{ indexBytes: 2 ** 30, onIndexOver: () => {} },
            openAside: (table) => openStore(`${table.store.root}${ASIDE_SUFFIX}`, { signal }),
            onCompactionFailure: (error) => {
              throw error;
            },
          }),
        ),
    },
  );
}

export async function topicOf(t: TestContext, partitions = 1): Promise<Fixture> {
  const fixture = await streamFixture(t, { mostRecordsPerBatch: 70 });
  fixture.kafka.createTopic("t", partitions);
  return fixture;
}

/** What readers of the table see. */
export const LIVE = "NOT coalesce(_cdc.deleted, false)";

export type Row = Record<string, unknown>;
/** Of Postgres, at this position. */
export const source = (lsn: number, more: object = {}) => ({
  ...{
    connector: "postgresql",
    name: "shop",
    db: "shop",
    table: "t",
    lsn,
    sequence: `[null,"${lsn}"]`,
    ...more,
  },
});
export function message(
  op: string,
  id: number,
  row: Row | null,
  at: object,
  more: object = {},
): OutgoingRecord {
  const value = { op, before: null, after: row && { id, ...row }, source: at };
  return { key: JSON.stringify({ id }), value: JSON.stringify(value), ...more };
}
export const tombstone = (id: number): OutgoingRecord => ({ key: JSON.stringify({ id }), value: null });
