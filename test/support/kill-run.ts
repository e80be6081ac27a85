/**
 * The kill test: an ingester is ended by SIGKILL at each named step of a commit, and at random moments while 100,000 messages flow,
 * and started again each time. Afterwards the ledger must add up.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Writable } from "node:stream";
import type { TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { sharedBroker } from "./kafka.ts";
import { type LabRun, lab, startLab } from "./lab.ts";
import { assertLedger, type Counted } from "./ledger.ts";
import { seeded } from "./seeded.ts";

export const FAILPOINTS = [
  "before-upload",
  "after-upload",
  "after-letters",
  "after-commit",
  "in-checkpoint",
] as const;

export type KillTarget = {
  tableUri: string;
  env: NodeJS.ProcessEnv;
  storageOptions?: Record<string, string>;
};

/** At least so many; and messages flow for as long as there are kills to come, however slow the machine. */
const MESSAGES = 100_000;
const PER_SECOND = 2_500;
const RANDOM_KILLS = 20;

/** Every thousandth message is no JSON: letters must be exactly once too. */
function message(id: number): string {
  return id % 1000 === 999
    ? `poison ${id}`
    : JSON.stringify({ id, text: `message ${id} ☃ ${"x".repeat(id % 50)}` });
}

/** Feeds a producer's standard input at a steady pace until it is told that the kills are over; resolves with how many it gave. */
async function feed(stdin: Writable, isOver: () => boolean): Promise<number> {
  const everyMs = 20;
  const perStep = (PER_SECOND * everyMs) / 1000;
  let id = 0;
  while (id < MESSAGES || !isOver()) {
    const lines = Array.from({ length: perStep }, () => `${message(id++)}\n`);
    if (!stdin.write(lines.join(""))) await once(stdin, "drain");
    await delay(everyMs);
  }
  stdin.end();
  return id;
}

export async function killRun(t: TestContext, target: KillTarget): Promise<Counted> {
  const brokers = await sharedBroker();
  const topic = `kill-${randomUUID()}`;
  const seed = Number(process.env.LAB_SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.diagnostic(`LAB_SEED=${seed} repeats the moments of the kills`);
  const random = seeded(seed);

  const kafka = ["--kafka", brokers.join(",")];
  const producer = startLab(["produce", "--topic", topic, "--source", "-", "--partitions", "3", ...kafka]);
  t.after(() => producer.child.kill("SIGKILL"));
  await producer.printed(/./);
  let isOver = false;
  const fed = feed(producer.child.stdin as Writable, () => isOver);
  fed.catch(() => {});

  let starts = 0;
  const start = (env: NodeJS.ProcessEnv = {}): LabRun => {
    // Some starts share a group with the killed one, as a restarted worker does, and wait for its session to expire; most do not, to be quick.
    const group = `${topic}-${starts++ % 6 === 0 ? 0 : starts}`;
    const args = [
      "ingest",
      "--topic",
      topic,
      "--table",
      target.tableUri,
      "--flush-latency",
      "200ms",
      "--group",
      group,
      ...kafka,
    ];
    const run = startLab(args, { env: { ...target.env, ...env } });
    t.after(() => run.child.kill("SIGKILL"));
    return run;
  };

  for (const failpoint of FAILPOINTS) {
    const run = start({ LAB_FAILPOINT: failpoint });
    const { signal } = await run.ended;
    assert.equal(signal, "SIGKILL", `the ingester killed itself ${failpoint}: ${run.stderr().slice(-2000)}`);
  }
  for (let n = 0; n < RANDOM_KILLS; n++) {
    const run = start();
    await run.printed(/"assigned"/);
    await delay(random() * 1200);
    assert.equal(run.child.exitCode, null, `the ingester ended by itself: ${run.stderr().slice(-2000)}`);
    run.child.kill("SIGKILL");
    await run.ended;
  }
  isOver = true;
  const messages = await fed;
  const { status } = await producer.ended;
  assert.equal(status, 0, producer.stderr());

  const last = await lab(["ingest", "--topic", topic, "--table", target.tableUri, "--once", ...kafka], {
    env: target.env,
  });
  assert.equal(last.status, 0, last.stderr.slice(-2000));
  const counted = await assertLedger({ brokers, topic, tableUri: target.tableUri, ...pick(target) });
  assert.equal(counted.rows + counted.letters, messages);
  return counted;
}

const pick = ({ storageOptions }: KillTarget) => (storageOptions ? { storageOptions } : {});
