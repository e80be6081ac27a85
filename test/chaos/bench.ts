/** What a scenario works with: a topic and a table of its own, messages that flow, workers to hurt, and the ledger at the end. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { openTable } from "../../delta/open.ts";
import { openStore } from "../../delta/store/open.ts";
import { connectKafka } from "../../kafka/client.ts";
import type { Admin } from "../../kafka/ports.ts";
import { type LabRun, startLab } from "../support/lab.ts";
import { type Ledger, type LedgerInput, readLedger } from "../support/ledger.ts";
import { type S3Proxy, startS3Proxy } from "../support/proxy.ts";
import { python } from "../support/python.ts";
import { seeded } from "../support/seeded.ts";
import { type ChaosBroker, ownBroker } from "./broker.ts";
import { type MemoryWatch, watchMemory } from "./memory.ts";
import type { Scenario } from "./scenario.ts";
import type { ChaosS3 } from "./services.ts";

/** What an ingester of these scenarios may take: 128 MiB for the encoder, 32 MiB of messages, and the rest for Node and two engines. */
export const MOST_MIB = 768;
/** How long a machine may take for what must come, however busy it is. */
export const PATIENCE_MS = 240_000;
const LIMITS = ["--memory", "128MiB", "--chunk", "4MiB", "--budget", "32MiB", "--flush-latency", "200ms"];

export type Worker = LabRun & {
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** SIGTERM, and it must end with 0. */
  stop(): Promise<void>;
  /** Its end by itself must have this status, and its last words this code. */
  failed(status: number, code: string): Promise<void>;
};

export type Feed = {
  /** How many messages were given to the producer so far. */
  given(): number;
  /** No more messages; resolves once the brokers have acknowledged all of them. */
  end(): Promise<number>;
};

export type Bench = Awaited<ReturnType<typeof openBench>>["bench"];

export type BenchOptions = { scenario: Scenario; seed: number; brokers: readonly string[]; s3: ChaosS3 };

export async function openBench({ scenario, seed, brokers: shared, s3 }: BenchOptions) {
  const closing: (() => unknown)[] = [];
  const folder = await mkdtemp(join(tmpdir(), `lab-chaos-${scenario.name}-`));
  closing.push(() => rm(folder, { recursive: true, force: true }));
  const random = seeded(seed);
  const own: ChaosBroker | null = scenario.broker ? await ownBroker(scenario.broker) : null;
  if (own) closing.push(() => own.close());
  const brokers = own?.brokers ?? [...shared];
  const topic = `chaos-${scenario.name}-${seed}-${process.pid}-${Date.now() % 1_000_000}`;
  const memory: MemoryWatch = watchMemory();
  closing.push(() => memory.end());
  const faults: Record<string, number> = {};
  const ledgers: Ledger[] = [];
  let proxy: S3Proxy | null = null;
  let admin: Admin | null = null;
  let tableUri = join(folder, "table");
  let env: NodeJS.ProcessEnv = {};
  let storageOptions: Record<string, string> = {};
  const kafka = ["--kafka", brokers.join(",")];

  function run(args: readonly string[], more: NodeJS.ProcessEnv = {}): LabRun {
    const started = startLab(args, { cwd: folder, env: { ...env, ...more } });
    closing.push(() => started.child.kill("SIGKILL"));
    return started;
  }

  const bench = {
    topic,
    folder,
    brokers,
    random,
    /** The scenario's own broker. */
    get broker(): ChaosBroker {
      assert.ok(own, "the scenario asks for a broker of its own");
      return own;
    },
    get tableUri() {
      return tableUri;
    },
    /** A whole number from `from` to below `to`. */
    between: (from: number, to: number) => from + Math.floor(random() * (to - from)),
    /** Run when the scenario is over, last things first. */
    after: (close: () => unknown) => void closing.push(close),
    /** Counts an injected fault by its kind. */
    fault(kind: string, times = 1) {
      faults[kind] = (faults[kind] ?? 0) + times;
    },
    async admin(): Promise<Admin> {
      if (!admin) {
        const opened = await connectKafka({ brokers, clientId: "chaos", connectTimeoutMs: 30_000 }).admin();
        admin = opened;
        closing.push(() => opened.close());
      }
      return admin;
    },
    /** Puts the table in S3, behind a proxy that can be told to fail. */
    async onS3(): Promise<S3Proxy> {
      const started = await startS3Proxy(s3.endpoint);
      proxy = started;
      closing.push(() => started.close());
      tableUri = `s3://${s3.bucket}/${topic}/table`;
      env = { ...s3.env, AWS_ENDPOINT_URL: proxy.endpoint };
      storageOptions = { ...s3.env, AWS_ALLOW_HTTP: "true" };
      return proxy;
    },
    /** Moves the table to another folder of this machine. */
    async onFolder(path: string) {
      await mkdir(path, { recursive: true });
      tableUri = join(path, "table");
    },
    /** Lets messages flow at a steady pace from now on. */
    async feed(
      options: { partitions?: number; perSecond?: number; message?: (id: number) => string } = {},
    ): Promise<Feed> {
      const { partitions = 3, perSecond = 300, message = defaultMessage } = options;
      const args = [
        "produce",
        "--topic",
        topic,
        "--source",
        "-",
        "--partitions",
        String(partitions),
        ...kafka,
      ];
      const producer = run(args);
      await producer.printed(/./);
      return pump(producer.child.stdin as Writable, producer.ended, perSecond, message, producer.stderr);
    },
    /** Starts an ingester of this scenario's topic and table. All workers share the group unless told otherwise. */
    worker(options: { args?: readonly string[]; env?: NodeJS.ProcessEnv } = {}): Worker {
      const args = [
        "ingest",
        "--group",
        topic,
        "--topic",
        topic,
        "--table",
        tableUri,
        ...LIMITS,
        ...kafka,
        ...(options.args ?? []),
      ];
      const started = run(args, options.env);
      memory.watch(started.pid);
      return {
        ...started,
        printed: (pattern, deadlineMs = PATIENCE_MS) => started.printed(pattern, deadlineMs),
        async kill() {
          started.child.kill("SIGKILL");
          await started.ended;
        },
        freeze: () => void process.kill(started.pid, "SIGSTOP"),
        thaw: () => void process.kill(started.pid, "SIGCONT"),
        async stop() {
          started.child.kill("SIGTERM");
          const { status, signal } = await started.ended;
          // Told to end before it had begun, it is a process like any other.
          if (signal === "SIGTERM" && started.stderr() === "") return;
          assert.equal(status, 0, `a worker ended with ${status}: ${started.stderr().slice(-3000)}`);
        },
        async failed(status, code) {
          const ended = await Promise.race([started.ended, delay(PATIENCE_MS, null, { ref: false })]);
          assert.deepEqual(
            ended,
            { status, signal: null },
            `${code} was expected: ${started.stderr().slice(-3000)}`,
          );
          assert.match(started.stderr(), new RegExp(`\\b${code}\\b`));
        },
      };
    },
    /** Any other command of the lab, in the scenario's folder. */
    command: (args: readonly string[]): LabRun => run(args),
    /** Reads what is left, with `--once`, which must end by itself and with 0. */
    async drain(options: { args?: readonly string[]; env?: NodeJS.ProcessEnv } = {}): Promise<Worker> {
      const worker = bench.worker({ ...options, args: ["--once", ...(options.args ?? [])] });
      const ended = await Promise.race([worker.ended, delay(PATIENCE_MS, null, { ref: false })]);
      assert.equal(ended?.status, 0, `--once: ${JSON.stringify(ended)} ${worker.stderr().slice(-3000)}`);
      return worker;
    },
    /** `partition:offset` of each letter there is now, by a reader that is not ours. */
    async letters(): Promise<ReadonlySet<string>> {
      const script = `import sys, json
from deltalake import DeltaTable
t = DeltaTable(sys.argv[1] + "__dead_letters", storage_options=json.loads(sys.argv[2])).to_pyarrow_table(columns=["partition", "offset"])
print(json.dumps([f"{r['partition']}:{r['offset']}" for r in t.to_pylist()]))`;
      return new Set(
        JSON.parse(await python(script, [tableUri, JSON.stringify(storageOptions)])) as string[],
      );
    },
    /** The sum of what the commits of a table on this machine call skipped. */
    async skippedByLog(): Promise<number> {
      const { signal } = new AbortController();
      const store = await openStore(tableUri, { signal });
      let skipped = 0;
      const table = await openTable(store, signal);
      for await (const { commitInfo } of table.history({ signal })) {
        const { partitions = [] } = (commitInfo?.lab ?? {}) as { partitions?: { skipped: number }[] };
        for (const partition of partitions) skipped += partition.skipped;
      }
      await store.close();
      return skipped;
    },
    /** The last offset that the table's log has of a partition; -1 where it has none. */
    async settledOffset(partition: number): Promise<bigint> {
      const { signal } = new AbortController();
      const store = await openStore(tableUri, { signal });
      const snapshot = await (await openTable(store, signal)).latest(signal);
      await store.close();
      return snapshot.txn(`lab/${topic}-${partition}`) ?? -1n;
    },
    /** The equations must hold, and memory must have stayed where it may. */
    async ledger(more: Partial<LedgerInput> = {}): Promise<Ledger> {
      const ledger = await readLedger({ brokers, topic, tableUri, storageOptions, ...more });
      ledgers.push(ledger);
      const { produced, rows, letters, skipped, lost, doubled, isContentEqual } = ledger;
      assert.deepEqual(
        { produced, lost, doubled, isContentEqual },
        { produced: rows + letters + skipped, lost: 0, doubled: 0, isContentEqual: true },
        `the ledger does not add up: ${JSON.stringify(ledger)}`,
      );
      assert.ok(produced > 0, "there was nothing to lose");
      assert.ok(memory.peakMiB() < MOST_MIB, `an ingester took ${memory.peakMiB()} MiB`);
      return ledger;
    },
  };

  return {
    bench,
    faults,
    /** The last ledger that was read. */
    ledger: () => ledgers.at(-1),
    peakMiB: () => memory.peakMiB(),
    async close() {
      for (const close of closing.reverse()) await close();
    },
  };
}

/** Gives messages to a producer's standard input at a steady pace. */
function pump(
  stdin: Writable,
  ended: Promise<{ status: number | null }>,
  perSecond: number,
  message: (id: number) => string,
  stderr: () => string = () => "",
): Feed {
  const everyMs = 50;
  const over = new AbortController();
  void ended.then(() => over.abort());
  let isOver = false;
  let id = 0;
  const feeding = (async () => {
    while (!isOver) {
      const lines = Array.from(
        { length: Math.ceil((perSecond * everyMs) / 1000) },
        () => `${message(id++)}\n`,
      );
      if (!stdin.write(lines.join(""))) await once(stdin, "drain", { signal: over.signal });
      await delay(everyMs);
    }
    stdin.end();
  })();
  feeding.catch(() => {});
  return {
    given: () => id,
    async end() {
      isOver = true;
      await feeding;
      const done = await Promise.race([ended, delay(PATIENCE_MS, null, { ref: false })]);
      assert.equal(done?.status, 0, `the producer: ${JSON.stringify(done)} ${stderr().slice(-2000)}`);
      return id;
    },
  };
}

/** Every hundredth message is no JSON: letters must be exactly once too. */
export function defaultMessage(id: number): string {
  return id % 100 === 99
    ? `poison ${id}`
    : JSON.stringify({ id, text: `message ${id} ☃ ${"x".repeat(id % 50)}` });
}
