/** kafka-delta-ingest and ours take turns on one table: `npm run test:kdi`, with LAB_REFEREES naming the folder that has its binary. */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { connectKafka } from "../kafka/client.ts";
import { sharedBroker } from "./support/kafka.ts";
import { lab } from "./support/lab.ts";
import { python } from "./support/python.ts";
import { until } from "./support/until.ts";

const referees = process.env.LAB_REFEREES;
if (!referees) throw new Error("LAB_REFEREES must name the folder that has peers/kafka-delta-ingest.xz");

const { signal } = new AbortController();
const PARTITIONS = 2;

/** A table of writer version 1, as the peer's build needs it, with the columns that its documentation suggests. */
const CREATE = `
import json, sys
from deltalake import DeltaTable, Schema
field = lambda n, t: {"name": n, "type": t, "nullable": True, "metadata": {}}
struct = lambda *fs: {"type": "struct", "fields": [field(n, t) for n, t in fs]}
meta = struct(("kafka", struct(("offset", "long"), ("partition", "integer"), ("topic", "string"))))
schema = struct(("id", "long"), ("at", "string"), ("meta", meta), ("date", "string"))
DeltaTable.create(sys.argv[1], schema=Schema.from_json(json.dumps(schema)), partition_by=["date"])
first = sys.argv[1] + "/_delta_log/00000000000000000000.json"
text = open(first).read()
open(first, "w").write(text.replace('"minWriterVersion":2', '"minWriterVersion":1'))
`;

const READ = `
import json, sys
from deltalake import DeltaTable
table = DeltaTable(sys.argv[1]).to_pyarrow_table()
rows = [[r["id"], r["date"], r["meta"]["kafka"]["topic"], r["meta"]["kafka"]["partition"], r["meta"]["kafka"]["offset"]] for r in table.to_pylist()]
print(json.dumps(sorted(rows)))
`;

const TRANSFORM = `SELECT *, substr("at", 1, 10) AS date,
  {'kafka': {'offset': _kafka.offset, 'partition': _kafka.partition, 'topic': _kafka.topic}} AS meta FROM messages`;

type Lab = { folder: string; table: string; topic: string; app: string; brokers: string };

async function setUp(t: TestContext): Promise<Lab & { binary: string }> {
  const folder = await mkdtemp(join(tmpdir(), "lab-kdi-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const binary = join(folder, "kafka-delta-ingest");
  const packed = join(referees as string, "peers", "kafka-delta-ingest.xz");
  await promisify(execFile)("sh", ["-c", `xz -dc "$0" > "$1" && chmod +x "$1"`, packed, binary]);
  const table = join(folder, "table");
  await python(CREATE, [table]);
  const id = randomUUID().slice(0, 8);
  return {
    folder,
    binary,
    table,
    topic: `kdi-${id}`,
    app: `app-${id}`,
    brokers: (await sharedBroker()).join(","),
  };
}

const latest = async (table: string) =>
  (await openTable(await openStore(table, { signal }), signal)).latest(signal);

async function positions({ table, app }: Lab): Promise<(bigint | undefined)[]> {
  const snapshot = await latest(table);
  return Array.from({ length: PARTITIONS }, (_, partition) => snapshot.txn(`${app}-${partition}`));
}

/** The peer's turn: it does not end by itself, so it is ended once both partitions are settled up to `settled`. */
async function peersTurn({ binary, ...at }: Lab & { binary: string }, settled: bigint): Promise<void> {
  const transforms = [
    "date: substr(at, `0`, `10`)",
    ...["offset", "partition", "topic"].map((name) => `meta.kafka.${name}: kafka.${name}`),
  ];
  // A group of its own: ended without leaving, its members hold an old one for as long as their session.
  const child = spawn(
    binary,
    [
      ...["ingest", at.topic, at.table, "-k", at.brokers, "-g", randomUUID(), "-a", at.app, "-o", "earliest"],
      ...["--allowed_latency", "1", "--max_messages_per_batch", "1000", "--min_bytes_per_file", "1000000"],
      ...transforms.flatMap((transform) => ["-t", transform]),
    ],
    { env: { ...process.env, RUST_LOG: "warn" }, stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-4_000);
  });
  const closed = once(child, "close");
  try {
    await until(
      `positions at ${settled}`,
      async () => {
        assert.equal(child.exitCode, null, said);
        return (await positions(at)).every((position) => position === settled);
      },
      { deadlineMs: 40_000 },
    );
  } finally {
    child.kill("SIGTERM");
    await closed;
  }
}

test("kafka-delta-ingest, ours and kafka-delta-ingest again on one table: every record once", async (t) => {
  const at = await setUp(t);
  const kafka = connectKafka({
    brokers: at.brokers.split(","),
    clientId: "kdi-test",
    connectTimeoutMs: 30_000,
  });
  const admin = await kafka.admin();
  await admin.createTopic(at.topic, { partitions: PARTITIONS });
  await admin.close();
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  let produced = 0;
  const produce = async (count: number) => {
    const records = Array.from({ length: count }, (_, n) => {
      const value = { id: produced + n, at: `2026-01-0${1 + (n % 3)}T00:00:00Z` };
      return { key: null, value: Buffer.from(JSON.stringify(value)), partition: n % PARTITIONS };
    });
    await sink.send(at.topic, records);
    produced += count;
  };
  const ours = (...more: string[]) =>
    lab(
      [
        ...[
          "ingest",
          "--topic",
          at.topic,
          "--table",
          at.table,
          "--kafka",
          at.brokers,
          "--app",
          at.app,
          "--once",
        ],
        ...["--transform", TRANSFORM, "--on-unknown-field", "ignore", ...more],
      ],
      { cwd: at.folder },
    );

  await produce(60);
  await peersTurn(at, 29n);

  await produce(40);
  const refused = await ours();
  assert.equal(refused.status, 2, refused.stderr);
  assert.match(refused.stderr, /--app-id-form kdi/);
  const taken = await ours("--app-id-form", "kdi");
  assert.equal(taken.status, 0, taken.stderr);
  assert.deepEqual(await positions(at), [49n, 49n]);
  assert.deepEqual([...(await latest(at.table)).txns().keys()].sort(), [`${at.app}-0`, `${at.app}-1`]);

  await produce(20);
  await peersTurn(at, 59n);

  const rows = JSON.parse(await python(READ, [at.table])) as [number, string, string, number, number][];
  const expected = Array.from({ length: produced }, (_, id) => {
    const n = id < 60 ? id : id < 100 ? id - 60 : id - 100;
    return [id, `2026-01-0${1 + (n % 3)}`, at.topic, n % PARTITIONS, Math.floor(id / PARTITIONS)];
  });
  assert.deepEqual(rows, expected);
});
