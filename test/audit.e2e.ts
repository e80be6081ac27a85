/** "Is it the end of the day yet?", asked as a user does, with messages that are late, doubled and gone on purpose. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import kafkajs from "kafkajs";
import { connectKafka } from "../kafka/client.ts";
import { sharedBroker } from "./support/kafka.ts";
import { lab } from "./support/lab.ts";

let folder: string;
let brokers: string[];
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lab-audit-"));
  brokers = await sharedBroker();
});
after(() => rm(folder, { recursive: true, force: true }));

const DAY = "2026-05-04";
const WINDOW = `${DAY}T10:00:00.000000Z`;
/** Messages of two windows of the day; half of a surrogate pair is no text, and so a letter. */
const MESSAGES = Array.from({ length: 50 }, (_, n) => {
  const at = `${DAY}T10:0${n < 30 ? 1 : 6}:00Z`;
  return n === 7 ? `{"n":7,"at":"${at}","note":"\\ud800"}` : JSON.stringify({ n, at, note: "" });
});

test("a day is not yet complete while messages are in flight, complete once they are in, and what is doubled or gone is told by origin, window and count", async () => {
  const id = randomUUID().slice(0, 8);
  const [topic, beats] = [`sales_${id}`, `audit_${id}`];
  const kafka = ["--kafka", brokers.join(",")];
  const run = async (args: readonly string[], expected = 0) => {
    const { status, stdout, stderr } = await lab([...args, ...kafka], { cwd: folder });
    assert.equal(status, expected, stderr);
    return stdout;
  };
  const ask = async (expected: number, more: readonly string[] = []) => {
    const where = ["--topic", topic, "--audit-topic", beats, "--audit-table", beats];
    return JSON.parse(await run(["audit", "day", DAY, ...where, ...more, "--json"], expected));
  };
  const ingest = (name: string) =>
    run(["ingest", "--topic", name, "--table", join(folder, "lab-data", "tables", name), "--once"]);
  const produce = async (lines: readonly string[]) => {
    await writeFile(join(folder, "sales.ndjson"), `${lines.join("\n")}\n`);
    const stamped = ["--audit", beats, "--audit-origin", "shop", "--event-time", "at"];
    await run(["produce", "--topic", topic, "--source", "sales.ndjson", "--partitions", "2", ...stamped]);
  };

  await produce(MESSAGES);
  await ingest(beats);
  const before = await ask(3);
  assert.deepEqual(
    before.topics[0].findings.map((one: { window: string; cause: string; count: number }) => [
      ...[one.window, one.cause, one.count],
    ]),
    [
      [WINDOW, "in flight", 30],
      [`${DAY}T10:05:00.000000Z`, "in flight", 20],
    ],
  );
  await ingest(topic);
  const whole = await ask(0, ["--wait"]);
  const { answer, percent, produced, settled, letters } = whole.topics[0];
  assert.deepEqual([answer, percent, produced, settled, letters], ["yes", 100, 50, 50, 1]);
  assert.equal((await ask(0, ["--tz", "Europe/Berlin"])).from, "2026-05-03T22:00:00.000000Z");

  // The same message a second time, stamp and all, as a producer sends it that is not idempotent.
  const client = connectKafka({ brokers, clientId: "again", connectTimeoutMs: 30_000 });
  const admin = await client.admin();
  const { signal } = new AbortController();
  const ends = [...(await admin.watermarks(topic))];
  const [partition] = ends.find(([, { high }]) => high > 0n)!;
  const first = (await admin.recordAt({ topic, partition, nextOffset: 0n }, signal))!;
  const headers = Object.fromEntries(first.headers.map(([name, value]) => [name, value!]));
  const sink = await client.sink({ acks: "all", idempotent: true });
  await sink.send(topic, [{ key: null, value: first.value, headers, partition }]);
  await sink.close();
  await ingest(topic);
  const doubled = await ask(3);
  assert.deepEqual(
    doubled.topics[0].findings.map((one: { origin: string; cause: string; count: number }) => [
      ...[one.origin, one.cause, one.count],
    ]),
    [["shop", "doubled", 1]],
  );

  // A second run of the origin, whose messages retention takes before they are read.
  await produce([JSON.stringify({ n: 50, at: `${DAY}T23:59:59Z` })]);
  await ingest(beats);
  const raw = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
  await raw.connect();
  const partitions = (await raw.fetchTopicOffsets(topic)).map((one) => ({
    ...{ partition: one.partition, offset: one.high },
  }));
  await raw.deleteTopicRecords({ topic, partitions });
  await raw.disconnect();
  await admin.close();
  const gone = await ask(3);
  assert.deepEqual([gone.answer, gone.topics[0].answer], ["never", "never"]);
  const found = gone.topics[0].findings.find(({ cause }: { cause: string }) => cause === "gone");
  assert.deepEqual([found.count, found.window, found.stage], [1, `${DAY}T23:55:00.000000Z`, "ingest"]);
  const page = await run(
    ["audit", "day", DAY, "--topic", topic, "--audit-topic", beats, "--audit-table", beats],
    3,
  );
  assert.match(page, /2026-05-04 UTC: never/);
  assert.match(page, /shop .*gone/);
});

test("what cannot be asked is told with the way out", async () => {
  const refuse = async (args: readonly string[], pattern: RegExp) => {
    const { status, stderr } = await lab([...args, "--kafka", brokers.join(",")], { cwd: folder });
    assert.equal(status, 2, stderr);
    assert.match(stderr, pattern);
  };
  await refuse(["audit", "week", "now"], /cannot week/);
  await refuse(["audit", "day", "2026-02-30"], /no date/);
  await refuse(["audit", "day", "today", "--tz", "Europe/Bärlin"], /no time zone/);
  await refuse(["audit", "day", "today", "--expect", "nowhere.yaml"], /nowhere\.yaml cannot be read/);
  await refuse(["audit", "retire", "shop"], /of which topic/);
  await writeFile(join(folder, "odd.yaml"), "topics: [orders]\n");
  await refuse(["audit", "day", "today", "--expect", "odd.yaml"], /odd\.yaml: topics/);
});
