/** "Is it the end of the day yet?", asked as a user does, with messages that are late, doubled and gone on purpose. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import kafkajs from "kafkajs";
import { connectKafka } from "../kafka/client.ts";
import { createTally } from "../producer/tally.ts";
import { sharedBroker } from "./support/kafka.ts";
import { lab, startLab } from "./support/lab.ts";
import { until } from "./support/until.ts";

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

/** Commands about a topic of its own, with an audit topic and table of its own. */
function audited() {
  const id = randomUUID().slice(0, 8);
  const [topic, beats] = [`sales_${id}`, `audit_${id}`];
  const kafka = ["--kafka", brokers.join(",")];
  const run = async (args: readonly string[], expected = 0) => {
    const { status, stdout, stderr } = await lab([...args, ...kafka], { cwd: folder });
    assert.equal(status, expected, stderr);
    return stdout;
  };
  const where = ["--topic", topic, "--audit-topic", beats, "--audit-table", beats];
  const table = join(folder, "lab-data", "tables", topic);
  return {
    ...{ topic, beats, kafka, run, where, table },
    ask: async (expected: number, more: readonly string[] = [], day = DAY) =>
      JSON.parse(await run(["audit", "day", day, ...where, ...more, "--json"], expected)),
    ingest: (name: string, ...more: string[]) =>
      run([
        "ingest",
        "--topic",
        name,
        "--table",
        join(folder, "lab-data", "tables", name),
        "--once",
        ...more,
      ]),
    async produce(lines: readonly string[], ...more: string[]) {
      const file = join(folder, `${id}.ndjson`);
      await writeFile(file, `${lines.join("\n")}\n`);
      const stamped = ["--audit", beats, "--audit-origin", "shop", "--event-time", "at"];
      const to = ["--topic", topic, "--source", file, "--partitions", "2", "--key", "n"];
      await run(["produce", ...to, ...stamped, ...more]);
    },
  };
}

type Told = {
  origin: string;
  stage: string;
  cause: string;
  count: number;
  sequences?: unknown;
  places?: unknown[];
};
const told = (answer: { topics: { findings: Told[] }[] }) =>
  answer.topics.flatMap(({ findings }) =>
    findings.map(({ origin, stage, cause, count, sequences }) => [origin, stage, cause, count, sequences]),
  );

test("a day is not yet complete while messages are in flight, complete once they are in, and what is doubled or gone is told by origin, window and count", async () => {
  const { topic, beats, run, ask, ingest, produce } = audited();
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
  const waiting = ask(0, ["--wait"]);
  await ingest(topic);
  const whole = await waiting;
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
    told(doubled).map((one) => one.slice(0, 4)),
    [["shop", "producer", "doubled", 1]],
  );
  assert.equal(doubled.topics[0].findings[0].places.length, 2);

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

test("an ingester that is killed at any step counts each message once", async (t) => {
  const { topic, beats, kafka, ask, ingest, produce, table } = audited();
  await produce(MESSAGES);
  for (const step of ["before-upload", "after-upload", "after-letters", "after-commit"]) {
    const killed = startLab(
      ["ingest", "--topic", topic, "--table", table, "--once", "--failpoint", step, ...kafka],
      { cwd: folder, input: "" },
    );
    t.after(() => killed.child.kill("SIGKILL"));
    const { signal } = await killed.ended;
    // What was committed before a kill is not done again: then the next one ends in order.
    assert.ok(signal === "SIGKILL" || step === "after-commit" || step === "after-letters", step);
  }
  await ingest(topic);
  await ingest(beats);
  const { answer, topics } = await ask(0, ["--rows"]);
  assert.deepEqual([answer, topics[0].produced, topics[0].settled, topics[0].absent], ["yes", 50, 50, 0]);
});

test("a producer that is killed leaves a tail that its next run speaks for", async (t) => {
  const { topic, beats, kafka, ask, ingest, produce } = audited();
  const file = join(folder, `${topic}.slow.ndjson`);
  // More than it can send before it is killed, however late that is.
  const lines = Array.from({ length: 20_000 }, (_, n) => JSON.stringify({ n, at: `${DAY}T10:01:00Z` }));
  await writeFile(file, `${lines.join("\n")}\n`);
  const stamped = ["--audit", beats, "--audit-origin", "shop", "--event-time", "at", "--partitions", "2"];
  const slow = startLab(
    ["produce", "--topic", topic, "--source", file, ...stamped, "--rate", "20/s", ...kafka],
    {
      ...{ cwd: folder, input: "" },
    },
  );
  t.after(() => slow.child.kill("SIGKILL"));
  const admin = await connectKafka({ brokers, clientId: "look", connectTimeoutMs: 30_000 }).admin();
  t.after(() => admin.close());
  await until("some messages and a heartbeat", async () => {
    for (const name of [topic, beats]) {
      if ((await admin.partitions(name)) === null) return false;
      if (![...(await admin.watermarks(name)).values()].some(({ high }) => high > 0n)) return false;
    }
    return true;
  });
  slow.child.kill("SIGKILL");
  await slow.ended;
  await ingest(topic);
  await ingest(beats);
  const [, , cause] = told(await ask(3))[0] ?? [];
  assert.ok(["silent", "lagging", "dead"].includes(String(cause)), String(cause));
  const { stdout } = await lab(["query", `SELECT count(*) AS n FROM "${topic}"`, "--json"], { cwd: folder });
  const sent = Number(JSON.parse(stdout)[0].n);
  await produce(MESSAGES);
  await ingest(topic);
  await ingest(beats);
  const { answer, topics } = await ask(0);
  const { produced, settled, unproven } = topics[0];
  assert.deepEqual([answer, produced, settled], ["yes", sent + 50, sent + 50]);
  assert.ok(unproven <= sent, `${unproven} of ${sent}`);
});

test("sums are rolled up once, the answer is the same, and the log may be cleaned up then", async () => {
  const { topic, beats, run, ask, ingest, produce } = audited();
  await produce(MESSAGES.slice(0, 30));
  await ingest(topic);
  await produce(MESSAGES.slice(30));
  await ingest(topic);
  await ingest(beats);
  const before = await ask(0);
  const roll = async () =>
    JSON.parse(await run(["audit", "rollup", topic, "--audit-table", beats, "--json"]));
  const { rows, missing, version } = await roll();
  assert.deepEqual([rows, missing], [2, 0]);
  assert.notEqual(version, null);
  assert.deepEqual([(await roll()).rows, (await roll()).version], [0, null]);
  const { auditLag: _, ...after } = await ask(0);
  assert.deepEqual(after.topics, before.topics);
  const { status, stdout, stderr } = await lab(["cleanup", topic, "--audit-table", beats, "--json"], {
    cwd: folder,
  });
  assert.equal(status, 0, stderr);
  const cleaned = JSON.parse(stdout);
  assert.deepEqual([cleaned.unread, cleaned.reason], [null, "young"]);
});

test("an alert goes to the webhook once when it begins and once when it ends, and the page and the metrics tell the same", async (t) => {
  const { topic, beats, kafka, where, ingest, produce, table } = audited();
  // A quarter of the day is past or to come, whatever the time is.
  const nowMs = Date.now();
  const dayMs = new Date(nowMs).getUTCHours() < 12 ? nowMs - 86_400_000 : nowMs;
  const day = new Date(dayMs).toISOString().slice(0, 10);
  await produce(MESSAGES.map((line) => line.replaceAll(DAY, day)));
  await ingest(beats);
  await ingest(topic, "--start", "0:2,1:1");
  const heard: { status: string; name: string; cause: string; origin: string; count: number }[] = [];
  let refusals = 1;
  const hook = createServer(async (request, response) => {
    const body = JSON.parse(
      String(
        await request
          .setEncoding("utf8")
          .toArray()
          .then((all) => all.join("")),
      ),
    );
    const isRefused = refusals-- > 0;
    // While the table is made anew its messages are in flight, which may be told, too.
    if (!isRefused && body.cause === "lost") heard.push(body);
    response.statusCode = isRefused ? 500 : 204;
    response.end();
  });
  hook.listen(0, "127.0.0.1");
  await new Promise((resolve) => hook.once("listening", resolve));
  t.after(() => hook.close());
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/alerts`;
  const data = join(folder, `${topic}-data`);
  const others = ["--data", data, "--store", join(folder, "lab-data", "tables"), ...where.slice(2), ...kafka];
  const watch = (args: readonly string[]) => {
    const started = startLab([...args, ...others], { cwd: folder, input: "" });
    t.after(() => started.child.kill("SIGKILL"));
    return started;
  };
  const first = watch(["audit", "watch", "--webhook", url, "--every", "1s", "--ops-port", "0"]);
  const begun = await until("the alert", () => heard.find(({ status }) => status === "firing"));
  assert.deepEqual(
    [begun.name, begun.origin, begun.cause, begun.count],
    ["LabAuditIncomplete", "shop", "lost", begun.count],
  );
  const [, port] = await first.printed(/"port":(\d+)/);
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  assert.match(
    metrics,
    new RegExp(`lab_audit_missing_messages\\{topic="${topic}",.*cause="lost"\\} ${begun.count}\\n`),
  );

  const page = watch(["dashboard", "--port", "0", "--json"]);
  const [, address] = await page.printed(/"address": "http:\/\/localhost:(\d+)/);
  const reply = await fetch(`http://127.0.0.1:${address}/api/audit?date=${day}`);
  const shown = (await reply.json()) as { topics: { topic: string; findings: Told[] }[] };
  const ofTopic = shown.topics.find((one) => one.topic === topic);
  const lost = ofTopic?.findings.filter(({ cause }) => cause === "lost") ?? [];
  assert.equal(
    lost.reduce((sum, { count }) => sum + count, 0),
    begun.count,
  );
  await until("the alert on the page", async () => {
    const alerts = (await (await fetch(`http://127.0.0.1:${address}/api/alerts`)).json()) as {
      name: string;
    }[];
    return alerts.some(({ name }) => name === "LabAuditIncomplete");
  });
  page.child.kill("SIGTERM");
  await page.ended;

  // A new watch does not tell again what was told.
  first.child.kill("SIGTERM");
  await first.ended;
  assert.equal(heard.length, 1);
  const second = watch(["audit", "watch", "--webhook", url, "--every", "1s"]);
  await second.printed(/serving/);
  await rm(table, { recursive: true });
  await ingest(topic);
  await until("the end of the alert", () => heard.some(({ status }) => status === "resolved"), {
    deadlineMs: 60_000,
  });
  second.child.kill("SIGTERM");
  await second.ended;
  assert.deepEqual(
    heard.map(({ status, name }) => `${status} ${name}`),
    ["firing LabAuditIncomplete", "resolved LabAuditIncomplete"],
  );
});

test("a clock that is two hours ahead closes no window, and is told by the broker's time", async (t) => {
  const { topic, beats, kafka, ask, ingest, produce } = audited();
  const today = new Date().toISOString().slice(0, 10);
  await produce(MESSAGES);
  const client = connectKafka({ brokers, clientId: "ahead", connectTimeoutMs: 30_000 });
  const sink = await client.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  const ahead = () => Date.now() + 26 * 3_600_000;
  const tally = createTally({ topic, origin: "fast", epoch: Date.now(), host: "h", isTimed: false });
  for (let n = 0; n < 3; n++)
    for (const row of tally.heartbeat(ahead(), false))
      await sink.send(beats, [{ key: "fast", value: JSON.stringify(row) }]);
  await ingest(topic);
  await ingest(beats);
  const answer = await ask(3, [], today);
  assert.equal(answer.brokersClock, true);
  assert.deepEqual(
    told(answer).map(([origin, , cause]) => [origin, cause]),
    [
      ["", "running"],
      ["fast", "skewed"],
    ],
  );
  const watch = startLab(
    ["audit", "watch", "--audit-topic", beats, "--audit-table", beats, "--every", "1s", "--json", ...kafka],
    { cwd: folder, input: "" },
  );
  t.after(() => watch.child.kill("SIGKILL"));
  await watch.printed(/"name":"LabAuditSkew".*"origin":"fast"/);
  watch.child.kill("SIGTERM");
  await watch.ended;
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
  await refuse(["audit", "day"], /which day/);
  await refuse(["audit", "rollup"], /which table/);
  await refuse(["audit", "watch", "orders"], /takes no "orders"/);
  await refuse(["audit", "watch", "--webhook", "ftp://x"], /no address of a webhook/);
  await writeFile(join(folder, "odd.yaml"), "topics: [orders]\n");
  await refuse(["audit", "day", "today", "--expect", "odd.yaml"], /odd\.yaml: topics/);
});
