/** Workers that die, stand still, come and go, or are told another time. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { countRows } from "../../support/count-rows.ts";
import { until } from "../../support/until.ts";
import type { Worker } from "../bench.ts";
import type { Scenario } from "../scenario.ts";

/** Beyond the session timeout of a group member, which is 6 s: by then it is another's turn. */
const EXPELLED_MS = 8_000;

const killed: Scenario = {
  name: "killed",
  injects: "SIGKILL of one of two workers of a group at random moments; a new one takes its place",
  expects: "the other takes its partitions over; nothing else is seen of it",
  async run(bench) {
    const feed = await bench.feed({ perSecond: 250 });
    const workers = [bench.worker(), bench.worker()];
    await Promise.all(workers.map((worker) => worker.printed(/"assigned"/)));
    for (let n = 0; n < 4; n++) {
      await delay(bench.between(200, 2_500));
      const at = bench.between(0, workers.length);
      await (workers[at] as Worker).kill();
      bench.fault("SIGKILL");
      workers[at] = bench.worker();
    }
    await feed.end();
    for (const worker of workers) await worker.kill();
    bench.fault("SIGKILL", workers.length);
    await bench.drain();
    await bench.ledger();
  },
};

const zombie: Scenario = {
  name: "zombie",
  injects:
    "SIGSTOP of a worker beyond its session, at a random moment of its commits; SIGCONT while another has its partitions",
  expects:
    "what it held is not written a second time; it finds out, joins again and goes on, and both end with 0",
  isBounded: true,
  async run(bench) {
    const feed = await bench.feed({ perSecond: 250 });
    const first = bench.worker();
    await first.printed(/"committed"/);
    const second = bench.worker();
    await second.printed(/"assigned"/);
    const both = [first, second];
    for (let n = 0; n < 2; n++) {
      await delay(bench.between(0, 400));
      const frozen = both[n % 2] as Worker;
      frozen.freeze();
      bench.fault("SIGSTOP beyond the session");
      await delay(EXPELLED_MS);
      frozen.thaw();
      await delay(bench.between(1_000, 3_000));
      for (const worker of both) assert.equal(worker.child.exitCode, null, worker.stderr().slice(-3000));
    }
    await feed.end();
    for (const worker of both) await worker.stop();
    await bench.drain();
    await bench.ledger();
  },
};

const zombieFirst: Scenario = {
  name: "zombie-at-first",
  injects:
    "SIGSTOP of the first worker before there is a table, beyond its session; another makes the table and fills it; SIGCONT",
  expects: "the thawed worker does not write its first messages into the table that is there by now",
  async run(bench) {
    const feed = await bench.feed({ perSecond: 250 });
    const first = bench.worker({ args: ["--flush-latency", "600ms"] });
    await first.printed(/"assigned"/);
    await delay(bench.between(0, 600));
    first.freeze();
    bench.fault("SIGSTOP beyond the session");
    const second = bench.worker();
    await second.printed(/"committed"/);
    await delay(EXPELLED_MS / 2);
    first.thaw();
    await delay(2_000);
    await feed.end();
    await first.stop();
    await second.stop();
    await bench.drain();
    await bench.ledger();
  },
};

const churn: Scenario = {
  name: "churn",
  injects: "1 to 5 workers of one group, one joining or leaving every 2 s, by SIGTERM or SIGKILL",
  expects: "those that are told to end do so with 0; every record once",
  async run(bench) {
    const feed = await bench.feed({ partitions: 6, perSecond: 300 });
    const workers = [bench.worker()];
    await workers[0]?.printed(/"committed"/);
    for (let n = 0; n < 8; n++) {
      const joins = workers.length === 1 || (workers.length < 5 && bench.random() < 0.55);
      if (joins) workers.push(bench.worker());
      else {
        const [leaving] = workers.splice(bench.between(0, workers.length), 1) as [Worker];
        if (bench.random() < 0.3) await leaving.kill();
        else await leaving.stop();
      }
      bench.fault(joins ? "worker joins" : "worker leaves");
      await delay(2_000);
    }
    await feed.end();
    for (const worker of workers) await worker.stop();
    await bench.drain();
    await bench.ledger();
  },
};

const clock: Scenario = {
  name: "clock-set-back",
  injects:
    "the wall clock of both workers set back by an hour while they run (Date alone, by a module loaded before: skewed-clock.mjs)",
  expects:
    "commits go on as before, not an hour later; the workers join their group anew, as the client would send no heartbeat for an hour",
  isBounded: true,
  async run(bench) {
    const skew = join(bench.folder, "skew");
    const module = fileURLToPath(new URL("../skewed-clock.mjs", import.meta.url));
    const env = { NODE_OPTIONS: `--import ${module}`, LAB_CLOCK_SKEW: skew };
    const feed = await bench.feed({ perSecond: 300 });
    const workers = [bench.worker({ env }), bench.worker({ env })];
    await Promise.all(workers.map((worker) => worker.printed(/"assigned"/)));
    await workers[0]?.printed(/"committed"/);
    await writeFile(skew, String(-3_600_000));
    bench.fault("clock set back by 1 h");
    await delay(10_000);
    const given = feed.given();
    await until(
      "what was produced after the step is committed",
      async () => (await countRows(bench.tableUri)) >= given * 0.98,
      {
        deadlineMs: 60_000,
      },
    );
    const admin = await bench.admin();
    await until("both are in their group", async () => (await admin.groupMembers(bench.topic)) === 2, {
      deadlineMs: 60_000,
    });
    await feed.end();
    for (const worker of workers) await worker.stop();
    await bench.drain();
    await bench.ledger();
  },
};

export const processes: readonly Scenario[] = [killed, zombie, zombieFirst, churn, clock];
