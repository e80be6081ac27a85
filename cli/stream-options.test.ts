import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { isLabError } from "../core/errors.ts";
import { readSettings, SETTINGS } from "../core/settings.ts";
import { parsePartitioning } from "../engine/partitioning.ts";
import { labText, parseLabYaml } from "./lab-yaml.ts";
import { STREAM_SETTINGS, streamOptions, tableUriOf } from "./stream-options.ts";

const TABLE = { ...STREAM_SETTINGS, store: SETTINGS.store, app: SETTINGS.app };
const LAB = parseLabYaml(
  `
app: shop
defaults: { flush: { latency: 4s, rows: 10 } }
streams:
  - { topic: my-topic, format: text }
  - { topic: orders, table: sales, partitionBy: [date], flush: { latency: 1s }, onBadRecord: stop }
`,
  "lab.yaml",
);

function options(flags: Record<string, string | string[]>, lab: typeof LAB | null = null) {
  return streamOptions(readSettings(TABLE, { flags, env: {}, file: labText(lab) }), lab);
}

test("a topic alone becomes a stream with the defaults, and a table of its name", () => {
  const [stream] = options({ "--topic": "my-topic", "--store": "/data/tables" });
  assert.deepEqual(
    { ...stream, group: undefined },
    {
      topic: "my-topic",
      tableUri: "file:///data/tables/my_topic",
      app: "lab",
      group: undefined,
      format: "json",
      wire: { format: "json", schemas: { kind: "none" }, csv: { header: false, delimiter: "," } },
      partitionBy: [],
      metadata: true,
      keepRaw: false,
      maxTables: 100,
      maxBad: null,
      mayAllBeBad: false,
      flush: { latencyMs: 2000, rows: 1_000_000, bytes: 268_435_456 },
      start: { kind: "earliest" },
      onBadRecord: "deadletter",
      onUnknownField: "add",
      onTopicReset: "fail",
      tableProperties: {},
      once: false,
    },
  );
  assert.match(stream?.group ?? "", /^lab\.my_topic\.[0-9a-f]{8}$/);
});

test("lab.yaml gives all its streams, each with its own settings over the defaults", () => {
  const streams = options({}, LAB);
  assert.deepEqual(
    streams.map(({ topic, format, flush, app, onBadRecord }) => [
      topic,
      format,
      flush.latencyMs,
      flush.rows,
      app,
      onBadRecord,
    ]),
    [
      ["my-topic", "text", 4000, 10, "shop", "deadletter"],
      ["orders", "json", 1000, 10, "shop", "stop"],
    ],
  );
  assert.ok(streams[1]?.tableUri.endsWith("/lab-data/tables/sales"));
});

test("flags win over lab.yaml, and a topic that it lists keeps what it says", () => {
  const [stream] = options(
    { "--topic": "orders", "--flush-latency": "300ms", "--table": "/else/where" },
    LAB,
  );
  assert.equal(stream?.flush.latencyMs, 300);
  assert.deepEqual(stream?.partitionBy, ["date"]);
  assert.equal(stream?.tableUri, "file:///else/where");
});

test("streams are chosen by topic or table name, and a wrong name suggests the near one", () => {
  assert.deepEqual(
    options({ "--stream": "sales" }, LAB).map(({ topic }) => topic),
    ["orders"],
  );
  assert.deepEqual(
    options({ "--stream": "my-topic" }, LAB).map(({ topic }) => topic),
    ["my-topic"],
  );
  assert.throws(
    () => options({ "--stream": "order" }, LAB),
    (error) => isLabError(error, "USAGE") && /did you mean orders/.test(error.hint ?? ""),
  );
});

test("several topics fill one table where both streams say so, and no topic fills it twice", () => {
  const shared = (second: string) =>
    parseLabYaml(`streams:\n  - { topic: a, table: all }\n  - ${second}\n`, "lab.yaml");
  const both = options({}, shared("{ topic: b, table: all }"));
  assert.equal(both[0]?.tableUri, both[1]?.tableUri);
  assert.equal(both[0]?.group, both[1]?.group);
  for (const second of ["{ topic: a, table: all }", "{ topic: all }"])
    assert.throws(
      () => options({}, shared(second)),
      (error) => isLabError(error, "CONFIG_INVALID") && /all/.test(error.message),
    );
});

test("formats of a language of their own need a schema, and say where one may come from", () => {
  for (const [format, hint] of [
    ["avro", /registry.*\.avsc/],
    ["protobuf", /registry.*\.proto/],
    ["csv", /--schema FILE.*--csv-header/],
  ] as const)
    assert.throws(
      () => options({ "--topic": "t", "--format": format }),
      (error) => isLabError(error, "CONFIG_INVALID") && hint.test(error.hint ?? ""),
    );
  const [stream] = options({ "--topic": "t", "--format": "avro", "--schema": "registry" });
  assert.deepEqual(stream?.wire.schemas, { kind: "registry" });
  assert.throws(
    () => options({ "--topic": "t", "--format": "text", "--schema": "registry" }),
    (error) => isLabError(error, "CONFIG_INVALID"),
  );
});

test("columns by expressions are a transform, and not both are given", () => {
  const [stream] = options({ "--topic": "t", "--column": ["day=strftime(at, '%d')", 'say "x"=upper(y)'] });
  assert.equal(
    stream?.transform,
    `SELECT *, (strftime(at, '%d')) AS "day", (upper(y)) AS "say ""x""" FROM messages`,
  );
  assert.throws(
    () => options({ "--topic": "t", "--column": ["a=1"], "--transform": "SELECT * FROM messages" }),
    (error) => isLabError(error, "USAGE"),
  );
});

test("a route needs the column that tells its rows apart", () => {
  const [stream] = options({ "--topic": "t", "--route": "country" });
  assert.deepEqual([stream?.route, stream?.maxTables], ["country", 100]);
  assert.throws(
    () => options({ "--topic": "t", "--route": "country", "--metadata": "off" }),
    (error) => isLabError(error, "USAGE"),
  );
});

test("nothing to ingest, one table for two streams, and a table name for several are refused", () => {
  assert.throws(
    () => options({}),
    (error) => isLabError(error, "USAGE"),
  );
  assert.throws(
    () => options({ "--table": "x" }, LAB),
    (error) => isLabError(error, "USAGE"),
  );
  const clash = parseLabYaml("streams:\n  - topic: a.b\n  - topic: a-b\n", "lab.yaml");
  assert.throws(
    () => options({}, clash),
    (error) => isLabError(error, "CONFIG_INVALID") && /a_b/.test(error.message),
  );
});

test("a start is a word, a time or an offset a partition", () => {
  const start = (text: string) => options({ "--topic": "t", "--start": text })[0]?.start;
  assert.deepEqual(start("latest"), { kind: "latest" });
  assert.deepEqual(start("0:5,2:9007199254740993"), {
    kind: "offsets",
    next: new Map([
      [0, 5n],
      [2, 9_007_199_254_740_993n],
    ]),
  });
  assert.deepEqual(start("2026-11-29T20:15:03Z"), {
    kind: "time",
    timestampMs: Date.UTC(2026, 10, 29, 20, 15, 3),
  });
  assert.throws(
    () => start("yesterday"),
    (error) => isLabError(error, "USAGE"),
  );
});

test("a table is a name in the store, a path, or a URI, always in one canonical form", () => {
  assert.equal(tableUriOf("orders", "s3://lab/tables/"), "s3://lab/tables/orders");
  assert.equal(tableUriOf("./x/orders/", "s3://lab/tables"), pathToFileURL(resolve("x/orders")).href);
  assert.equal(tableUriOf("/x/orders", "anywhere"), "file:///x/orders");
  assert.equal(tableUriOf("file:///x/orders/", "anywhere"), "file:///x/orders");
  assert.equal(tableUriOf("s3://bucket/a/b/", "anywhere"), "s3://bucket/a/b");
  assert.throws(
    () => tableUriOf("s3:///b", "anywhere"),
    (error) => isLabError(error, "USAGE"),
  );
});

test("a schema comes from a file; one that is none names the file", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "schema-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "schema.json");
  const fields = [{ name: "id", type: "long", nullable: true, metadata: {} }];
  await writeFile(file, JSON.stringify({ type: "struct", fields }));
  assert.deepEqual(options({ "--topic": "t", "--schema": file })[0]?.schema?.fields, fields);
  assert.equal(options({ "--topic": "t", "--schema": "infer" })[0]?.schema, undefined);
  await writeFile(file, "{");
  assert.throws(
    () => options({ "--topic": "t", "--schema": file }),
    (error) => isLabError(error, "CONFIG_INVALID") && error.message.includes(file),
  );
});

test("partition columns may be buckets, and what is nothing to partition a table by is refused before anything starts", () => {
  const by = (items: string) => options({ "--topic": "t", "--partition-by": items });
  assert.deepEqual(parsePartitioning(by("date,bucket(16,id)")[0]!.partitionBy).columns, [
    "date",
    "id_bucket",
  ]);
  assert.throws(
    () => by("date,month(placed_at)"),
    (error) => isLabError(error, "CONFIG_INVALID") && /month\(placed_at\)/.test(error.message),
  );
});

test("a start that names a partition twice contradicts itself and is refused", () => {
  const start = (value: string) => options({ "--topic": "orders", "--start": value })[0]?.start;
  assert.deepEqual(start("0:3,1:4"), {
    kind: "offsets",
    next: new Map([
      [0, 3n],
      [1, 4n],
    ]),
  });
  assert.throws(
    () => start("0:3,0:4"),
    (error) => isLabError(error, "USAGE") && /names a partition twice/.test(error.message),
  );
});
