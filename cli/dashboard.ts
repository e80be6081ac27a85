/** `lab dashboard`: the page over the tables and processes of a lab. `lab up` starts it. */

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Registry } from "prom-client";
import { toJson } from "../core/ops.ts";
import { bytes, integer, list, named, port } from "../core/setting-kinds.ts";
import { SETTINGS, setting } from "../core/settings.ts";
import { tableNameOf } from "../ingest/identity.ts";
import { portTaken } from "../services/ports.ts";
import { AUDIT } from "./audit.ts";
import { defineCommand } from "./command.ts";
import { CONNECT_TIMEOUT } from "./connect-timeout.ts";
import { DEMO_PRODUCERS, demoYaml } from "./demo.ts";
import { KAFKA, kafkaAccess } from "./kafka-settings.ts";
import { createLabAudit } from "./lab-audit.ts";
import { createLabChaos } from "./lab-chaos.ts";
import { createLabControl } from "./lab-control.ts";
import { createLabWork } from "./lab-work.ts";
import { chaosToken } from "./process-orders.ts";
import { OPS, servePart } from "./serve-part.ts";
import { openTableMarks } from "./table-marks.ts";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const WILDCARDS = ["0.0.0.0", "::"];

export const dashboard = defineCommand({
  name: "dashboard",
  summary: "Serve the page over the tables and processes of a lab, as up does",
  examples: [
    "lab dashboard",
    "lab dashboard --store s3://lab/tables --kafka broker:9092",
    "lab dashboard --host 0.0.0.0 --allowed-hosts lab.example.org",
  ],
  settings: {
    store: SETTINGS.store,
    ...KAFKA,
    data: SETTINGS.data,
    port: setting<number>({
      flag: "--port",
      kind: port,
      default: 8080,
      description: "port of the page; 0 takes a free one",
    }),
    host: setting<string>({
      flag: "--host",
      kind: named("address"),
      default: "127.0.0.1",
      description: "address it listens on",
    }),
    allowedHosts: setting<string[]>({
      flag: "--allowed-hosts",
      kind: list(named("name")),
      default: [],
      description: "names under which browsers may reach it, beside loopback",
    }),
    memory: setting<number>({
      flag: "--memory",
      kind: bytes,
      default: 512 * 1024 * 1024,
      description: "what the engine may use to show rows",
    }),
    threads: setting<number>({
      flag: "--threads",
      kind: integer(1, 1024),
      default: 2,
      description: "threads of the engine",
    }),
    connectTimeout: CONNECT_TIMEOUT,
    ...AUDIT,
    ...OPS,
  },
  stops: "gracefully",
  seeAlso: ["up", "status"],
  async run({ signal, openLog, lab, env, screen, common }, values) {
    const log = await openLog();
    const access = await kafkaAccess(values, { env, lab });
    const { watchAlerts } = await import("../dashboard/alerts-watch.ts");
    const { watchLedger } = await import("../dashboard/ledger-watch.ts");
    const { createDashboard } = await import("../dashboard/server.ts");
    const { openTableReader } = await import("../query/reader.ts");
    const { connectKafka } = await import("../kafka/client.ts");
    const kafka = connectKafka({
      ...access,
      clientId: `lab-dashboard-${process.pid}`,
      connectTimeoutMs: values.connectTimeout,
    });
    const configured = (lab ?? demoYaml("the demo")).streams;
    const streams = configured.map(({ topic, table, route }) => ({
      topic,
      table: table ?? tableNameOf(topic),
      isRouted: route !== undefined,
    }));
    const chaosKey = chaosToken(env);
    const chaos =
      chaosKey === null
        ? {}
        : {
            chaos: createLabChaos({
              ...{ data: values.data, kafka, token: chaosKey, now: Date.now },
              streams: configured.map(({ topic, format }) => ({
                topic,
                format: format ?? "json",
                isDemo: DEMO_PRODUCERS.some((demo) => demo.topic === topic),
              })),
            }),
          };
    const ending = new AbortController();
    const work = createLabWork({
      common: [...["--store", values.store], ...(lab === null ? [] : ["--config", lab.file])],
      ...{ env, signal: ending.signal },
    });
    const control = createLabControl({ data: values.data, kafka, streams, work, ...chaos });
    const limits = { memoryLimitBytes: values.memory, threads: values.threads };
    const tables = openTableReader({ store: values.store, limits });
    const marks = openTableMarks(values.store);
    const token = env.LAB_PAGE_TOKEN || randomBytes(16).toString("hex");
    const ownHost = WILDCARDS.includes(values.host) ? [] : [values.host];
    const watching = new AbortController();
    const watch = { control, log, now: Date.now, signal: watching.signal };
    const { alerts: ofLab, ended } = watchAlerts(watch);
    const ledger = watchLedger({ ...watch, positions: tables.positions });
    const registry = new Registry();
    const { store, data, expect, timeZone, webhook, auditTable, auditTopic } = values;
    const audit = await createLabAudit({
      ...{ store, data, expect, timeZone, webhook, limits, kafka, lab, registry, log },
      signal: watching.signal,
      audit: { table: auditTable, topic: auditTopic },
    });
    const alerts = () => [...ofLab(), ...audit.alerts()];
    const app = createDashboard({
      ...{ tables, control, audit, token, alerts, ledger, registry, log, positions: tables.positions },
      marks: marks.read,
      allowedHosts: [...LOOPBACK, ...ownHost, ...values.allowedHosts],
    });
    const server = createServer(app);
    try {
      await listen(server, values.port, values.host);
      const { port: taken } = server.address() as AddressInfo;
      const shownHost =
        WILDCARDS.includes(values.host) || values.host === "127.0.0.1" ? "localhost" : values.host;
      const address = `http://${shownHost}:${taken}/?token=${token}`;
      const state = () => ({ part: "dashboard", pid: process.pid, address, alerts: alerts() });
      const source = { isHealthy: () => true, isReady: () => true, state, registry };
      const part = await servePart("dashboard", source, { ...values, address }, env);
      if (common.json) screen.out(`${toJson({ address, pid: process.pid }, 2)}\n`);
      else if (screen.isOutLive) screen.out(`${address}\n`);
      else if (screen.isNoteLive) screen.note(address);
      log.info({ port: taken }, "serving");
      try {
        if (!signal.aborted) await once(signal, "abort");
      } finally {
        await part.close();
      }
      return 0;
    } finally {
      server.close();
      server.closeAllConnections();
      watching.abort();
      ending.abort(new Error("the dashboard ends"));
      await Promise.all([ended, ledger.ended]);
      await audit.close();
      await tables.close();
      await marks.close();
      await control.close();
    }
  },
});

async function listen(server: Server, wanted: number, host: string): Promise<void> {
  server.listen(wanted, host);
  try {
    await once(server, "listening");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    throw await portTaken(wanted, "give another with --port, or stop that process", error);
  }
}
