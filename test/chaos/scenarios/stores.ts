/** A store that refuses, hangs, lies about what it did, is slow, or is full. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { isCommit, type SeenRequest } from "../../support/proxy.ts";
import { until } from "../../support/until.ts";
import { type Bench, PATIENCE_MS } from "../bench.ts";
import { NotRun, type Scenario } from "../scenario.ts";

const exec = promisify(execFile);
const isWrite = ({ method }: SeenRequest) => method === "PUT";

const errors: Scenario = {
  name: "s3-errors",
  injects:
    "a quarter of the requests answered with 500 InternalError or 503 SlowDown for 10 s, then all of them for 4 s",
  expects: "the outage is said (STORE_UNREACHABLE), waited out, and over by itself",
  isBounded: true,
  async run(bench) {
    const proxy = await bench.onS3();
    const feed = await bench.feed({ perSecond: 250 });
    const worker = bench.worker();
    await worker.printed(/"committed"/);
    const answers = [
      { status: 500, code: "InternalError" },
      { status: 503, code: "SlowDown" },
    ];
    for (const [share, ms] of [
      [0.125, 10_000],
      [1, 4_000],
    ] as const) {
      const losses = answers.map((answer) =>
        proxy.refuse(() => bench.random() < share, answer, Number.POSITIVE_INFINITY),
      );
      await delay(ms);
      for (const [n, loss] of losses.entries()) {
        loss.end();
        bench.fault(`S3 ${answers[n]?.status} ${answers[n]?.code}`, loss.hit.length);
      }
    }
    assert.equal(worker.child.exitCode, null, worker.stderr().slice(-3000));
    await worker.printed(/STORE_UNREACHABLE/, 1_000);
    await feed.end();
    await worker.stop();
    await bench.drain();
    await bench.ledger();
  },
};

const hangs: Scenario = {
  name: "s3-hangs",
  injects: "S3 takes requests and answers none for 12 s, twice; then cuts all connections for 3 s",
  expects: "reading pauses, nothing is given up, and it goes on by itself",
  async run(bench) {
    const proxy = await bench.onS3();
    const feed = await bench.feed({ perSecond: 250 });
    const worker = bench.worker();
    await worker.printed(/"committed"/);
    for (let n = 0; n < 2; n++) {
      await delay(bench.between(0, 500));
      proxy.freeze();
      bench.fault("S3 hangs");
      await delay(12_000);
      proxy.restore();
      await delay(1_000);
    }
    proxy.cut();
    bench.fault("S3 cut off");
    await delay(3_000);
    proxy.restore();
    assert.equal(worker.child.exitCode, null, worker.stderr().slice(-3000));
    await feed.end();
    await worker.stop();
    await bench.drain();
    await bench.ledger();
  },
};

const cutReplies: Scenario = {
  name: "s3-cut-replies",
  injects:
    "a third of the PUTs are done and their replies cut, commits and data files alike; some requests are cut before they are done",
  expects: "each commit is settled by reading the log: there once, never twice",
  isBounded: true,
  async run(bench) {
    const proxy = await bench.onS3();
    const always = Number.POSITIVE_INFINITY;
    const replies = proxy.loseReply((request) => isWrite(request) && bench.random() < 0.33, always);
    const requests = proxy.loseRequest(() => bench.random() < 0.03, always);
    const feed = await bench.feed({ perSecond: 250 });
    const worker = bench.worker();
    await delay(12_000);
    await until("a commit's reply is among them", () => replies.hit.some(isCommit), {
      deadlineMs: PATIENCE_MS,
    });
    await feed.end();
    assert.equal(worker.child.exitCode, null, worker.stderr().slice(-3000));
    replies.end();
    requests.end();
    bench.fault("S3 reply cut after the PUT", replies.hit.length);
    bench.fault("S3 request cut", requests.hit.length);
    await worker.stop();
    await bench.drain();
    await bench.ledger();
  },
};

const latePut: Scenario = {
  name: "s3-late-put",
  injects:
    "the PUT of a commit is held on its way, its worker killed, another takes over and commits; then the PUT is done all the same",
  expects:
    "the log takes one of the two for each partition, and the worker that lost reads its positions again before its next commit",
  isBounded: true,
  async run(bench) {
    const proxy = await bench.onS3();
    const feed = await bench.feed({ partitions: 4, perSecond: 250 });
    for (let n = 0; n < 2; n++) {
      const worker = bench.worker();
      await worker.printed(/"committed"/);
      const late = proxy.holdBack(isCommit);
      await until("a commit is on its way", () => late.hit.length > 0);
      await worker.kill();
      bench.fault("S3 PUT done late");
      const next = bench.worker();
      await next.printed(n % 2 === 0 ? /"assigned"/ : /"committed"/);
      await late.release();
      await delay(2_000);
      await next.stop();
    }
    await feed.end();
    await bench.drain();
    await bench.ledger();
  },
};

const slow: Scenario = {
  name: "s3-slow",
  injects:
    "each write of a table in S3 takes 8 s, longer than the group's session; workers join and leave meanwhile",
  expects: "members stay in their group while they wait; what is cut off in a rebalance is not written twice",
  async run(bench) {
    const proxy = await bench.onS3();
    const feed = await bench.feed({ partitions: 4, perSecond: 200 });
    const first = bench.worker();
    await first.printed(/"committed"/);
    const loss = proxy.delay(isWrite, 8_000, Number.POSITIVE_INFINITY);
    await delay(bench.between(3_000, 6_000));
    const second = bench.worker();
    await second.printed(/"assigned"/);
    await delay(bench.between(6_000, 10_000));
    await first.kill();
    bench.fault("SIGKILL");
    await delay(10_000);
    loss.end();
    bench.fault("S3 write slower than the session", loss.hit.length);
    assert.equal(second.child.exitCode, null, second.stderr().slice(-3000));
    await feed.end();
    await second.stop();
    await bench.drain();
    await bench.ledger();
  },
};

/** A small file system in memory; NotRun where mounting is not permitted. */
async function smallDisk(bench: Bench, name: string, size: string): Promise<string> {
  const path = join(bench.folder, name);
  await exec("mkdir", ["-p", path]);
  try {
    await exec("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path]);
  } catch (error) {
    throw new NotRun(`a small tmpfs cannot be mounted here: ${String((error as Error).message).trim()}`);
  }
  bench.after(() => exec("umount", ["-l", path]));
  return path;
}

const diskFull = (
  name: string,
  where: string,
  prepare: (bench: Bench, path: string) => Promise<readonly string[]>,
): Scenario => ({
  name,
  injects: `the disk of ${where} is full (a small tmpfs, filled), and gets room again`,
  expects: "STORE_FULL is said, nothing is given up or half written, and it goes on by itself",
  async run(bench) {
    const disk = await smallDisk(bench, "disk", "32m");
    const args = await prepare(bench, disk);
    const feed = await bench.feed({ perSecond: 300 });
    const worker = bench.worker({ args });
    await worker.printed(/"committed"/);
    const filler = join(disk, "filler");
    await exec("dd", ["if=/dev/zero", `of=${filler}`, "bs=1k"]).catch(() => {});
    bench.fault("disk full");
    await worker.printed(/STORE_FULL/);
    await delay(4_000);
    assert.equal(worker.child.exitCode, null, worker.stderr().slice(-3000));
    await rm(filler);
    await delay(1_000);
    await feed.end();
    await worker.stop();
    await bench.drain({ args });
    await bench.ledger();
  },
});

const tableDisk = diskFull("disk-full", "the table", async (bench, path) => {
  await bench.onFolder(path);
  return [];
});

const stagingDisk = diskFull("staging-disk-full", "the files being made", async (_bench, path) => [
  "--data",
  path,
]);

export const stores: readonly Scenario[] = [errors, hangs, cutReplies, latePut, slow, tableDisk, stagingDisk];
