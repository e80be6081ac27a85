/** What `lab up` itself serves: what it can be told to do, and as its /state which parts it keeps, how often each came back, and how it last ended. */

import { Gauge, Registry } from "prom-client";
import { serveOps } from "../core/ops.ts";
import { removeRunFile, runFilePath, writeRunFile } from "../services/run-file.ts";
import type { Supervisor } from "../services/supervisor.ts";
import type { LabOrders } from "./lab-orders.ts";

export const LAB_PART = "lab";

/** Serves on a free port and writes `<data>/run/lab.json`. */
export async function serveSupervisor(
  supervisor: Supervisor,
  data: string,
  /** Null where it cannot be told anything. */
  told: LabOrders | null,
): Promise<{ close(): Promise<void> }> {
  const registry = new Registry();
  new Gauge({
    name: "lab_part_restarts",
    help: "How often the supervisor started a part again",
    labelNames: ["part"],
    registers: [registry],
    collect() {
      for (const { name, restarts } of supervisor.parts()) this.set({ part: name }, restarts);
    },
  });
  const isReady = () => supervisor.parts().every(({ state }) => state === "ready" || state === "done");
  const state = () => ({
    ...{ part: LAB_PART, pid: process.pid, parts: supervisor.parts() },
    refusals: told?.refusals() ?? null,
  });
  const orders = told === null ? {} : { orders: told.orders };
  const server = await serveOps({ isHealthy: () => true, isReady, state, registry, ...orders }, 0);
  const file = runFilePath(data, LAB_PART);
  const startedAt = new Date().toISOString();
  await writeRunFile(file, {
    name: LAB_PART,
    kind: LAB_PART,
    pid: process.pid,
    opsPort: server.port,
    startedAt,
  });
  return {
    async close() {
      await removeRunFile(file);
      await server.close();
    },
  };
}
