import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Registry } from "prom-client";
import { LabError } from "../core/errors.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { faultyStore } from "../test/support/faulty-store.ts";
import { type Fixture, streamFixture } from "../test/support/stream-fixture.ts";
import { until } from "../test/support/until.ts";
import { createMetrics, exposeReports } from "./metrics.ts";

const { signal } = new AbortController();

const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });
const range = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => json({ id: from + n, kind: (from + n) % 2 }));

/** Samples of the text that Prometheus would read, summed by the labels that are asked for: `name{partition=0}`. */
async function scraped(fixture: Fixture) {
  const text = await fixture.registry.metrics();
  const samples = text.split("\n").flatMap((line) => {
    const [, name = "", labels = "", value = ""] = /^(\w+)\{(.*)\} (\S+)$/.exec(line) ?? [];
    return name === "" ? [] : [{ name, labels, value: Number(value) }];
  });
  return (name: string, label = ""): number | null => {
    const found = samples.filter((one) => one.name === name && one.labels.includes(label));
    return found.length === 0 ? null : found.reduce((sum, { value }) => sum + value, 0);
  };
}

test("every count agrees with what was put into the topic: rows, letters by code, what the transform leaves out, gaps", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 2);
  fixture.kafka.append("t", 0, range(0, 6));
  const aborted = fixture.kafka.transaction("t");
  aborted.append(0, range(100, 105));
  aborted.abort();
  fixture.kafka.append("t", 0, [
    { key: null, value: "{broken" },
    { key: null, value: null },
  ]);
  fixture.kafka.append("t", 1, range(6, 10));
  const transform = "SELECT * FROM messages WHERE kind = 0";
  const worker = fixture.start({ transform });
  const value = await until("all is in", async () => {
    const look = await scraped(fixture);
    return (
      look("lab_ingest_lag_records") === 0 && look("lab_ingest_lag_records", 'partition="1"') === 0 && look
    );
  });
  assert.deepEqual(
    {
      read: value("lab_ingest_messages_read_total"),
      transformed: value("lab_ingest_messages_transformed_total"),
      failed: value("lab_ingest_messages_failed_total"),
      rows: value("lab_ingest_rows_total"),
      skipped: value("lab_ingest_skipped_total"),
      letters: value("lab_ingest_letters_total"),
      lettersByCode: value("lab_ingest_letters_by_code_total"),
      earlier: value("lab_ingest_letters_by_code_total", 'code="EARLIER"'),
      buffered: [value("lab_ingest_buffered_rows"), value("lab_ingest_buffered_bytes")],
      paused: value("lab_ingest_paused"),
      failedStreams: value("lab_ingest_failed"),
      idle: value("lab_ingest_seconds_since_progress"),
      lagSeconds: value("lab_ingest_lag_seconds"),
      outages: value("lab_ingest_outages_total"),
      conflicts: value("lab_ingest_conflicts_total"),
      rebalances: value("lab_ingest_rebalances_total"),
    },
    {
      ...{
        read: 12,
        transformed: 10,
        failed: 2,
        rows: 5,
        skipped: 5,
        letters: 2,
        lettersByCode: 2,
        earlier: null,
      },
      ...{ buffered: [0, 0], paused: 0, failedStreams: 0, idle: 0, lagSeconds: 0 },
      ...{ outages: null, conflicts: 0, rebalances: 1 },
    },
  );
  const table = await (await openTable(await openStore(fixture.tableUri, { signal }), signal)).latest(signal);
  assert.deepEqual(
    {
      bytes: value("lab_ingest_parquet_bytes_total"),
      files: value("lab_ingest_files_total"),
      version: value("lab_ingest_table_version"),
      commits: value("lab_ingest_commits_total"),
    },
    { bytes: table.sizeBytes, files: table.numFiles, version: table.version, commits: table.version },
  );
  for (const name of ["flush", "encode", "commit"]) {
    const count = value(`lab_ingest_${name}_seconds_count`) ?? 0;
    const sum = value(`lab_ingest_${name}_seconds_sum`) ?? 0;
    assert.ok(count >= 1 && sum > 0 && sum < 60, `${name}: ${count} times, ${sum} s`);
  }
  assert.ok(value("lab_ingest_flush_seconds_sum")! >= value("lab_ingest_commit_seconds_sum")!);
  await worker.end();
});

test("while the store is away outages are counted, the stream counts as paused and its records as buffered and late", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, range(0, 4));
  let isAway = true;
  fixture.wrap = (store) =>
    faultyStore(store, ({ op, path }) =>
      isAway && op === "put" && path.endsWith(".parquet")
        ? new LabError("STORE_UNREACHABLE", "the store is away")
        : undefined,
    );
  const worker = fixture.start();
  const away = await until("lag and outage show", async () => {
    const look = await scraped(fixture);
    return look("lab_ingest_lag_records") === 4 && (look("lab_ingest_outages_total") ?? 0) > 0 && look;
  });
  assert.ok(away("lab_ingest_outages_total", 'code="STORE_UNREACHABLE"')! >= 1);
  assert.deepEqual([away("lab_ingest_paused"), away("lab_ingest_buffered_rows")], [1, 4]);
  assert.ok(away("lab_ingest_buffered_bytes")! > 4 * 10);
  assert.ok(away("lab_ingest_lag_seconds")! >= 0);
  isAway = false;
  const back = await until("it goes on by itself", async () => {
    const look = await scraped(fixture);
    return look("lab_ingest_lag_records") === 0 && look;
  });
  assert.deepEqual([back("lab_ingest_paused"), back("lab_ingest_buffered_rows")], [0, 0]);
  await worker.end();
});

test("a partition that goes to another worker has no lag here any more", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 2);
  fixture.kafka.append("t", 0, range(0, 3));
  fixture.kafka.append("t", 1, range(3, 6));
  const first = fixture.start();
  const registry = new Registry();
  exposeReports(registry, () => first.ingest?.reports() ?? []);
  const samples = async (name: string) =>
    (await registry.metrics()).split("\n").filter((line) => line.startsWith(`${name}{`)).length;
  await until("both partitions show", async () => (await samples("lab_ingest_lag_records")) === 2);
  const second = fixture.start();
  await until("one is left", async () => (await samples("lab_ingest_lag_records")) === 1);
  assert.equal(await samples("lab_ingest_lag_seconds"), 1);
  await second.end();
  await until("it is back", async () => (await samples("lab_ingest_lag_records")) === 2);
  await first.end();
  assert.equal(await samples("lab_ingest_lag_records"), 0);
});

test("a commit that another writer of the app won is counted once", async (t) => {
  const fixture = await streamFixture(t);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, range(0, 3));
  const worker = fixture.start();
  await fixture.hasRows(3);
  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const txns = [{ appId: "lab/t-0", version: 3n }];
  const readSnapshot = await table.latest(signal);
  await table.commit({ readSnapshot, operation: "STREAMING UPDATE", txns }, signal);
  fixture.kafka.append("t", 0, range(3, 6));
  await fixture.hasRows(5);
  const value = await scraped(fixture);
  assert.equal(value("lab_ingest_conflicts_total"), 1);
  assert.equal(value("lab_ingest_messages_read_total"), 3 + 3 + 2);
  await worker.end();
});

test("docs/operations.md names each metric that is served, and no other", async () => {
  const registry = new Registry();
  createMetrics(registry);
  exposeReports(registry, () => []);
  const served = registry.getMetricsAsArray().map(({ name }) => name);
  const text = await readFile(new URL("../docs/operations.md", import.meta.url), "utf8");
  const named = [...text.matchAll(/`(lab_ingest_\w+)`/g)].map(([, name]) => name);
  assert.deepEqual([...new Set(named)].sort(), [...served].sort());
});
