/** A broker that a scenario may hurt. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "../../core/log.ts";
import { bringUpKafka } from "../../services/kafka.ts";

export type ChaosBroker = {
  brokers: string[];
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** Up again on the same port and data. */
  restart(): Promise<void>;
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
};

export async function ownBroker(config: Readonly<Record<string, string>>): Promise<ChaosBroker> {
  const dataDir = await mkdtemp(join(tmpdir(), "lab-chaos-broker-"));
  const controller = new AbortController();
  const up = (port: number) =>
    bringUpKafka({ choice: "jvm", dataDir, port, log: silentLog, signal: controller.signal, config });
  let service = await up(0);
  const { brokers } = service;
  const port = Number(brokers[0]?.split(":").at(-1));
  return {
    brokers,
    async kill() {
      process.kill(service.pid as number, "SIGKILL");
      await service.exited;
    },
    async restart() {
      await service.close();
      service = await up(port);
    },
    freeze: () => void process.kill(service.pid as number, "SIGSTOP"),
    thaw: () => void process.kill(service.pid as number, "SIGCONT"),
    async close() {
      await service.close();
      controller.abort();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
