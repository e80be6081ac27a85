/** What every long-running command does beside its work: serve /healthz, /readyz, /state, /metrics, and say where. */

import { hostname } from "node:os";
import { basename, resolve } from "node:path";
import { type OpsSource, serveOps } from "../core/ops.ts";
import { port } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { removeRunFile, writeRunFile } from "../services/run-file.ts";

/** Settings of every long-running command. */
export const OPS = {
  opsPort: setting<number>({
    flag: "--ops-port",
    kind: port,
    default: 0,
    description: "port of /healthz, /readyz, /state and /metrics; 0 takes a free one",
  }),
  opsHost: setting<string>({
    flag: "--ops-host",
    kind: { placeholder: "address", parse: (value) => value, show: (value) => value },
    default: "127.0.0.1",
    description: "address that port listens on",
  }),
} as const;

/** Serves, and writes the run file that LAB_RUN_FILE names; `address` is where users reach the part. PORT_TAKEN. */
export async function servePart(
  kind: string,
  source: OpsSource,
  values: { opsPort: number; opsHost: string; address?: string },
  env: NodeJS.ProcessEnv,
): Promise<{ port: number; close(): Promise<void> }> {
  const server = await serveOps(source, values.opsPort, values.opsHost);
  const file = env.LAB_RUN_FILE ? resolve(env.LAB_RUN_FILE) : null;
  if (file !== null) {
    await writeRunFile(file, {
      ...{ name: basename(file, ".json"), kind, pid: process.pid, opsPort: server.port },
      ...{ startedAt: new Date().toISOString(), address: values.address ?? null },
      // Served to other hosts, it is asked by them: under the name that this one has among them.
      ...(values.opsHost === OPS.opsHost.default ? {} : { opsHost: hostname() }),
    });
  }
  return {
    port: server.port,
    async close() {
      if (file !== null) await removeRunFile(file);
      await server.close();
    },
  };
}
