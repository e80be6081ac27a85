/** A table back into Kafka, and into a program that goes on in the live topic: judged by Apache's own consumer, with kills. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { openTable as openTableForPrograms } from "../api/table.ts";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { connectKafka } from "../kafka/client.ts";
import type { ExactRecord, Kafka } from "../kafka/ports.ts";
import { hybridRecords } from "../replay/hybrid.ts";
import { type ReadRecord, readTopic } from "./support/independent-reader.ts";
import { sharedBroker, startBroker } from "./support/kafka.ts";
import { lab, startLab } from "./support/lab.ts";
import { seeded } from "./support/seeded.ts";
import { until } from "./support/until.ts";

const { signal } = new AbortController();
let folder: string;
let brokers: string[];
let at: string[];
let kafka: Kafka;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lab-replay-"));
  brokers = await sharedBroker();
  at = ["--kafka", brokers.join(",")];
  kafka = connectKafka({ brokers, clientId: "replay-e2e", connectTimeoutMs: 30_000 });
});
after(() => rm(folder, { recursive: true, force: true }));

async function run(args: readonly string[], status = 0): Promise<string> {
  const ended = await lab(args, { cwd: folder });
  assert.equal(ended.status, status, `${args.join(" ")}\n${ended.stderr}`);
  return status === 0 ? ended.stdout : ended.stderr;
}

async function write(topic: string, records: readonly ExactRecord[]): Promise<void> {
  const sink = await kafka.transactionalSink({ transactionalId: `source-${topic}`, signal });
  try {
    await sink.send(topic, records);
    await sink.commit();
  } finally {
    await sink.close();
  }
}

async function makeTopic(
  topic: string,
  partitions: number,
  config: Record<string, string> = {},
): Promise<void> {
  const admin = await kafka.admin();
  await admin.createTopic(topic, { partitions, config });
  await admin.close();
}

/** What a record says, by partition and in order; offsets of a replay are its own. */
function told(
  records: readonly ReadRecord[],
  isMeant: (record: ReadRecord) => boolean = () => true,
): string[][] {
  const partitions: string[][] = [[], [], []];
  const ordered = [...records].sort((a, b) => a.partition - b.partition || Number(a.offset - b.offset));
  for (const record of ordered.filter(isMeant)) {
    const { partition, timestampMs, key, value, headers } = record;
    const text = (bytes: Buffer | null) => bytes?.toString("base64") ?? null;
    const named = headers.map(([name, content]) => [name, text(content)]);
    partitions[partition]!.push(JSON.stringify([timestampMs, text(key), text(value), named]));
  }
  return partitions;
}

/** Says where they part, not all they hold. */
function assertSame(found: string[][], wanted: string[][]): void {
  for (const [partition, records] of wanted.entries()) {
    const differs = records.findIndex((record, n) => record !== found[partition]![n]);
    if (differs >= 0)
      assert.equal(
        found[partition]![differs],
        records[differs],
        `record ${differs} of partition ${partition}`,
      );
    assert.equal(found[partition]!.length, records.length, `records of partition ${partition}`);
  }
}

const NOW = Date.now();

/** Times go up, and now and then back; headers are doubled, null and not in the order of the alphabet. */
function message(id: number, more: object = {}): ExactRecord {
  const isBad = id % 97 === 50;
  return {
    partition: id % 3,
    timestampMs: NOW - 3_600_000 + id * 10 - (id % 11 === 0 ? 5_000 : 0),
    key: id % 5 === 0 ? null : Buffer.from(`k${id % 7}`),
    value: Buffer.from(
      isBad
        ? `{bad ${id}`
        : `{ "id": ${id}, "name": "n${id % 13}"${id % 2 ? " " : ""}${Object.entries(more).map(([k, v]) => `, "${k}": ${v}`)}}`,
    ),
    headers:
      id % 4 === 0
        ? []
        : [
            ["b", Buffer.from([id % 256])],
            ["b", Buffer.alloc(0)],
            ["a", null],
          ],
  };
}
const isRow = ({ value }: ReadRecord) => !String(value).startsWith("{bad");
const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

test("after optimize, Z-order, evolution and restore the topic comes back byte for byte, each partition in its order", async () => {
  const topic = `replay-${randomUUID()}`;
  const table = join(folder, "tidied");
  await makeTopic(topic, 3);
  const ingest = ["ingest", "--topic", topic, "--table", table, "--keep-raw", "on", "--once", ...at];
  await write(
    topic,
    ids(0, 600).map((id) => message(id)),
  );
  await run(ingest);
  await write(
    topic,
    ids(600, 900).map((id) => message(id, { extra: id / 2 })),
  );
  await run(ingest);
  await run(["optimize", table]);
  const [{ version }] = JSON.parse(await run(["history", table, "--json"])) as [{ version: number }];
  const twoRounds = told(await readTopic(brokers, topic), isRow);
  await write(
    topic,
    ids(900, 1200).map((id) => message(id)),
  );
  await run(ingest);
  await run(["optimize", table, "--zorder", "name"]);

  const replay = (target: string, ...more: string[]) =>
    run(["replay", table, "--to-topic", target, "--json", ...more, ...at]);
  const result = JSON.parse(await replay(`${topic}-all`));
  const whole = told(await readTopic(brokers, topic), isRow);
  assertSame(told(await readTopic(brokers, `${topic}-all`)), whole);
  assert.deepEqual(
    [result.sent, result.reencoded, result.partitions, result.comparison],
    [whole.flat().length, 0, 3, "same"],
  );
  // Nobody is sent twice, whoever asks again.
  assert.equal(JSON.parse(await replay(`${topic}-all`)).sentNow, 0);
  assertSame(told(await readTopic(brokers, `${topic}-all`)), whole);

  await replay(`${topic}-late`, "--from-version", String(version + 1));
  const late = whole.map((records, partition) => records.slice(twoRounds[partition]!.length));
  assertSame(told(await readTopic(brokers, `${topic}-late`)), late);

  await run(["restore", table, "--version", String(version)]);
  await replay(`${topic}-restored`);
  assertSame(told(await readTopic(brokers, `${topic}-restored`)), twoRounds);
  const range = ["--from-version", "1", "--dry-run"];
  assert.match(
    await run(["replay", table, "--to-topic", `${topic}-dry`, ...range, ...at]),
    /would be made, with 3 partitions\n.*\(RESTORE\).*took rows out[\s\S]*nothing was made or sent/,
  );
});

test("killed at random moments and started again, each record is in the topic once and in order", async (t) => {
  const seed = Number(process.env.LAB_SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.diagnostic(`LAB_SEED=${seed}`);
  const random = seeded(seed);
  const topic = `killed-${randomUUID()}`;
  const table = join(folder, "killed");
  await makeTopic(topic, 3);
  await write(
    topic,
    ids(0, 6_000).map((id) => message(id)),
  );
  await run(["ingest", "--topic", topic, "--table", table, "--keep-raw", "on", "--once", ...at]);
  const target = `${topic}-again`;
  const replay = [
    "replay",
    table,
    "--to-topic",
    target,
    "--rate",
    "1500/s",
    "--transaction-size",
    "20KiB",
    // What a killed run leaves there goes with the test's folder.
    "--scratch",
    join(folder, "scratch"),
    "--json",
    ...at,
  ];
  let kills = 0;
  for (; kills < 5; kills++) {
    const killed = startLab(replay, { cwd: folder, input: "" });
    t.after(() => killed.child.kill("SIGKILL"));
    await killed.printed(/replaying/);
    await Promise.race([delay(200 + random() * 2_500), killed.ended]);
    killed.child.kill("SIGKILL");
    await killed.ended;
  }
  const result = JSON.parse(await run(replay.filter((one) => one !== "--rate" && one !== "1500/s")));
  assertSame(told(await readTopic(brokers, target)), told(await readTopic(brokers, topic), isRow));
  assert.equal(result.sent, ids(0, 6_000).filter((id) => id % 97 !== 50).length);
});

test("a broker that is killed and comes back ends no replay: it goes on by itself, and each record is there once", async (t) => {
  const broker = await startBroker(t);
  const address = ["--kafka", broker.brokers.join(",")];
  const own = connectKafka({ brokers: broker.brokers, clientId: "replay-e2e", connectTimeoutMs: 30_000 });
  const [topic, table] = [`outage-${randomUUID()}`, join(folder, "outage")];
  const admin = await own.admin();
  await admin.createTopic(topic, { partitions: 3 });
  const sink = await own.transactionalSink({ transactionalId: topic, signal });
  await sink.send(
    topic,
    ids(0, 3_000).map((id) => message(id)),
  );
  await sink.commit();
  await sink.close();
  await run(["ingest", "--topic", topic, "--table", table, "--keep-raw", "on", "--once", ...address]);
  const wanted = told(await readTopic(broker.brokers, topic), isRow);
  const target = `${topic}-again`;
  const size = ["--rate", "150/s", "--transaction-size", "20KiB", "--json"];
  const replaying = startLab(["replay", table, "--to-topic", target, ...size, ...address], {
    cwd: folder,
    input: "",
  });
  t.after(() => replaying.child.kill("SIGKILL"));
  await until("some of it", async () => {
    if ((await admin.partitions(target)) === null) return false;
    return (await admin.watermarks(target)).get(0)!.high > 100n;
  });
  await admin.close();
  await broker.kill();
  await broker.restart();
  assert.equal((await replaying.ended).status, 0, replaying.stderr());
  assertSame(told(await readTopic(broker.brokers, target)), wanted);
  assert.match(replaying.stderr(), /outage, trying again/);
});

test("the table, then the live topic at the next offset, while a producer and an ingester run: no gap, no double", async (t) => {
  const topic = `live-${randomUUID()}`;
  const uri = join(folder, "live");
  const produce = [
    "produce",
    "--topic",
    topic,
    "--source",
    "orders",
    "--rate",
    "400/s",
    "--partitions",
    "3",
    ...at,
  ];
  const producer = startLab(produce, { cwd: folder, input: "" });
  t.after(() => producer.child.kill("SIGKILL"));
  await until("the topic", async () => {
    const admin = await kafka.admin();
    try {
      return (await admin.partitions(topic)) !== null;
    } finally {
      await admin.close();
    }
  });
  const ingest = ["ingest", "--topic", topic, "--table", uri, "--flush-latency", "200ms", ...at];
  const ingester = startLab(ingest, { cwd: folder, input: "" });
  t.after(() => ingester.child.kill("SIGKILL"));
  const store = await openStore(`file://${uri}`, { signal });
  t.after(() => store.close());
  const table = await until("the table's second version", async () => {
    const opened = await openTable(store, signal);
    return (await opened.latest(signal)).version >= 2 ? opened : null;
  });
  const work = {
    scratchDir: join(folder, "scratch"),
    memoryLimitBytes: 256 << 20,
    threads: 1,
    cache: () => Promise.reject(new Error("a local table needs no cache")),
  };
  const offsets: bigint[][] = [[], [], []];
  const counts = { table: 0, topic: 0 };
  const stop = AbortSignal.timeout(240_000);
  const total = () => offsets.reduce((sum, one) => sum + one.length, 0);
  let produced: number | null = null;
  for await (const { records, position } of hybridRecords({ table, kafka, topic, work, signal: stop })) {
    for (const { partition, offset } of records) offsets[partition]!.push(offset);
    counts[position.phase] += records.length;
    if (counts.topic > 500 && produced === null) {
      producer.child.kill("SIGTERM");
      assert.equal((await producer.ended).status, 0);
      const admin = await kafka.admin();
      const marks = [...(await admin.watermarks(topic)).values()];
      await admin.close();
      produced = marks.reduce((sum, { high }) => sum + Number(high), 0);
    }
    if (total() === produced) break;
  }
  assert.ok(counts.table > 0 && counts.topic > 0, JSON.stringify(counts));
  assert.deepEqual(
    offsets,
    offsets.map((one) => ids(0, one.length).map(BigInt)),
  );
  ingester.child.kill("SIGTERM");
  assert.equal((await ingester.ended).status, 0);
});

test("what cannot be replayed is refused before the first record, with the way out", async () => {
  const topic = `refused-${randomUUID()}`;
  const table = join(folder, "refused");
  await makeTopic(topic, 3);
  await write(
    topic,
    ids(0, 9).map((id) => message(id)),
  );
  await run(["ingest", "--topic", topic, "--table", table, "--once", ...at]);
  await makeTopic(`${topic}-narrow`, 2);
  await makeTopic(`${topic}-stamped`, 3, { "message.timestamp.type": "LogAppendTime" });
  await makeTopic(`${topic}-short`, 3, { "retention.ms": "60000" });
  const refused = (target: string, ...more: string[]) =>
    run(["replay", table, "--to-topic", `${topic}-${target}`, ...more, ...at], 2);
  assert.match(
    await refused("narrow"),
    /has 2 partitions, and the records come from 3[\s\S]*kafka-topics --alter/,
  );
  assert.match(await refused("stamped"), /LogAppendTime[\s\S]*message.timestamp.type=CreateTime/);
  assert.match(await refused("short"), /keeps records for 0.0 h[\s\S]*retention.ms=-1/);
  assert.match(await refused("x", "--topic", "elsewhere"), new RegExp(`there are rows of ${topic}`));
  assert.match(await refused("x", "--from-version", "1", "--from-time", "2026-01-01"), /begins at one place/);
  const plain = join(folder, "plain");
  await run(["ingest", "--topic", topic, "--table", plain, "--metadata", "off", "--once", ...at]);
  assert.match(
    await run(["replay", plain, "--to-topic", `${topic}-x`, ...at], 2),
    /do not say which Kafka record/,
  );
  assert.equal(
    await kafka.admin().then((admin) => admin.partitions(`${topic}-x`).finally(() => admin.close())),
    null,
  );
  // Values that were not kept are made again, and that is said.
  assert.match(
    await run(["replay", table, "--to-topic", `${topic}-x`, ...at]),
    /compared: the topic holds each of them once[\s\S]*9 values of them made again/,
  );
  const again = await readTopic(brokers, `${topic}-x`);
  assert.deepEqual(
    again
      .map(({ value }) => JSON.parse(String(value)) as object)
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    ids(0, 9).map((id) => ({ id, name: `n${id}` })),
  );

  // A program reads what the table has, then what only the topic has, and goes on from a place that it kept.
  await write(topic, [message(9)]);
  const opened = await openTableForPrograms(table);
  try {
    const seen: number[] = [];
    let from: { position: string } | undefined;
    for (const until of [9, 10]) {
      const asked = { topic, kafka: { brokers }, ...(from === undefined ? {} : { from }) };
      for await (const { records, position } of opened.hybridRecords(asked)) {
        seen.push(...records.map(({ value }) => (JSON.parse(String(value)) as { id: number }).id));
        from = { position };
        if (seen.length >= until) break;
      }
    }
    assert.deepEqual(
      seen.sort((a, b) => a - b),
      ids(0, 10),
    );
  } finally {
    await opened.close();
  }
});
