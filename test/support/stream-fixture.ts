/** A stream over the Kafka in memory, with real files in a real table, and everything that can be made to fail at hand. */

import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Registry } from "prom-client";
import { openEncoder } from "../../columnar/open-encoder.ts";
import { type Log, silentLog } from "../../core/log.ts";
import { openTable } from "../../delta/open.ts";
import { openStore } from "../../delta/store/open.ts";
import type { Store } from "../../delta/store/store.ts";
import { locateFiles } from "../../engine/data-files.ts";
import type { Encoder } from "../../engine/encoder.ts";
import { openEngine } from "../../engine/instance.ts";
import { createRelation } from "../../engine/scan.ts";
import type { Decoder } from "../../formats/decoder.ts";
import { groupOf } from "../../ingest/identity.ts";
import { createMetrics, exposeReports } from "../../ingest/metrics.ts";
import type { StreamOptions } from "../../ingest/options.ts";
import { createIngest, type Ingest, type IngestOptions } from "../../ingest/run.ts";
import { createRowReader } from "../../ingest/table-rows.ts";
import { appending, type Work } from "../../ingest/work.ts";
import { type FakeKafka, fakeKafka } from "../../kafka/fake.ts";
import { until } from "./until.ts";

const { signal } = new AbortController();

export type Fixture = {
  kafka: FakeKafka;
  folder: string;
  tableUri: string;
  registry: Registry;
  /** Starts a worker; `end` stops it in order and rejects with its failure, if any. */
  start(
    options?: Partial<StreamOptions>,
    more?: Partial<IngestOptions> & {
      onStep?: (step: string) => void;
      decoder?: Decoder;
      log?: Log;
      /** What is done with messages, given a folder for it; absent: each becomes a row. */
      work?: (encoder: Encoder, scratchDir: string) => Work;
    },
  ): Worker;
  /** Wraps each store that workers open from now on. */
  wrap: (store: Store) => Store;
  /** Rows of a query over `t` (the table) or `letters`, as JSON values. */
  rows(select: string, of?: "t" | "letters"): Promise<Record<string, unknown>[]>;
  /** The same of any table, called `t`. */
  rowsOf(uri: string, select: string): Promise<Record<string, unknown>[]>;
  /** Waits until the table has this many rows. */
  hasRows(count: number): Promise<void>;
};

export type Worker = { ingest: Ingest; ended: Promise<void>; end(): Promise<void> };

export async function streamFixture(
  t: TestContext,
  options: { mostRecordsPerBatch?: number } = {},
): Promise<Fixture> {
  const folder = await mkdtemp(join(tmpdir(), "lab-stream-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const kafka = fakeKafka(options);
  const tableUri = `file://${join(folder, "table")}`;
  const registry = new Registry();
  const metricsFor = createMetrics(registry);
  const ingests: Ingest[] = [];
  exposeReports(registry, () => ingests.flatMap((ingest) => ingest.reports()));
  let staging = 0;

  async function encoderOfARun(): Promise<Encoder> {
    const stagingDir = join(folder, `staging-${staging++}`);
    await mkdir(stagingDir, { recursive: true });
    return openEncoder({ stagingDir, memoryLimitBytes: 256 << 20, threads: 1 });
  }

  async function rowsOf(uri: string, select: string, name: string): Promise<Record<string, unknown>[]> {
    const store = await openStore(uri, { signal });
    const engine = await openEngine({ memoryLimitBytes: 256 << 20, threads: 1, tempDir: null });
    try {
      const snapshot = await (await openTable(store, signal)).latest(signal);
      const data = await locateFiles(store, snapshot.files(), undefined, signal);
      await createRelation(engine, { name, table: snapshot, data, signal });
      return (await engine.rows(select, { signal })) as Record<string, unknown>[];
    } finally {
      engine.close();
      await store.close();
    }
  }

  const fixture: Fixture = {
    kafka,
    folder,
    tableUri,
    registry,
    wrap: (store) => store,
    start(options = {}, more = {}) {
      const stopping = new AbortController();
      const stream: StreamOptions = {
        topic: "t",
        tableUri,
        app: "lab",
        group: groupOf("lab", tableUri),
        format: "json",
        partitionBy: [],
        metadata: true,
        keepRaw: false,
        maxTables: 100,
        maxBad: null,
        flush: { latencyMs: 50, rows: 1_000_000, bytes: 256 << 20 },
        start: { kind: "earliest" },
        onBadRecord: "deadletter",
        onUnknownField: "add",
        onTopicReset: "fail",
        tableProperties: {},
        once: false,
        ...options,
      };
      const limits = { connectTimeoutMs: 5_000, chunkBytes: 32 << 20, budgetBytes: 256 << 20 };
      const ready = encoderOfARun().then((encoder) => ({
        encoder,
        ingest: createIngest(
          { streams: [stream], ...limits, ...more },
          {
            kafka,
            openStore: async (uri) => fixture.wrap(await openStore(uri, { signal })),
            encoder,
            onTable: () => {},
            decoderFor: async () => more.decoder ?? null,
            workFor: () => more.work?.(encoder, join(folder, "scratch")) ?? appending,
            rowReader: createRowReader({ memoryLimitBytes: 256 << 20 }),
            metricsFor,
            log: more.log ?? silentLog,
            now: Date.now,
            onStep: more.onStep ?? (() => {}),
          },
        ),
      }));
      const worker: Partial<Worker> = {};
      const ended = ready.then(async ({ encoder, ingest }) => {
        worker.ingest = ingest;
        ingests.push(ingest);
        try {
          await ingest.run(stopping.signal);
        } finally {
          await encoder.close();
        }
      });
      ended.catch(() => {});
      t.after(() => stopping.abort());
      return Object.assign(worker as Worker, {
        ended,
        end: async () => {
          stopping.abort();
          await ended;
        },
      });
    },
    rows: (select, of = "t") => rowsOf(of === "t" ? tableUri : `${tableUri}__dead_letters`, select, of),
    rowsOf: (uri, select) => rowsOf(uri, select, "t"),
    async hasRows(count) {
      await until(`${count} rows`, async () => {
        const [found] = await fixture.rows("SELECT count(*) AS n FROM t");
        return Number(found?.n) >= count;
      });
    },
  };
  return fixture;
}
