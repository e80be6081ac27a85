/** A real broker for tests: one of its own per test file, or the one that LAB_TEST_KAFKA names. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext } from "node:test";
import { silentLog } from "../../core/log.ts";
import { bringUpKafka, type KafkaService } from "../../services/kafka.ts";

export type TestBroker = {
  /** The same for the broker's whole life, restarts included. */
  brokers: string[];
  pid(): number;
  /** SIGKILL, as a power cut; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Ends it in order. */
  stop(): Promise<void>;
  /** Up again on the same port and data. */
  restart(): Promise<void>;
};

export type TestBrokerOptions = {
  /** Broker settings by Kafka's own names, over the lab's. */
  config?: Record<string, string>;
};

let shared: Promise<string[]> | undefined;
let closeShared = async () => {};
// Here, outside of any test: a hook that is set inside one runs when that one ends.
after(() => closeShared());

/**
 * Addresses of a broker that the tests of this file share: LAB_TEST_KAFKA, or one that is started at the first call and closed after
 * the file's tests. Give topics and groups names of their own (a uuid).
 */
export async function sharedBroker(): Promise<string[]> {
  shared ??= (async () => {
    const given = process.env.LAB_TEST_KAFKA;
    if (given) return given.split(",");
    const { broker, close } = await start({});
    closeShared = close;
    return broker.brokers;
  })();
  return shared;
}

/** A broker of this test's own, for tests that kill or restart it; closed and removed when the test ends. */
export async function startBroker(t: TestContext, options: TestBrokerOptions = {}): Promise<TestBroker> {
  const { broker, close } = await start(options);
  t.after(close);
  return broker;
}

async function start(
  options: TestBrokerOptions,
): Promise<{ broker: TestBroker; close: () => Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), "lab-broker-"));
  const controller = new AbortController();
  const up = (port: number): Promise<KafkaService> =>
    bringUpKafka({
      choice: "jvm",
      dataDir,
      port,
      log: silentLog,
      signal: controller.signal,
      ...(options.config === undefined ? {} : { config: options.config }),
    });
  let service = await up(0);
  const brokers = service.brokers;
  const port = Number(brokers[0]?.split(":").at(-1));
  return {
    broker: {
      brokers,
      pid: () => service.pid as number,
      async kill() {
        process.kill(service.pid as number, "SIGKILL");
        await service.exited;
      },
      stop: () => service.close(),
      async restart() {
        await service.close();
        service = await up(port);
      },
    },
    async close() {
      await service.close();
      controller.abort();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
