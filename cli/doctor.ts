/** `lab doctor`: will it run here, and if not, what to do about it. */

import { cacheFolder } from "../core/cache-folder.ts";
import { toJson } from "../core/ops.ts";
import { port } from "../core/setting-kinds.ts";
import { SETTINGS, setting } from "../core/settings.ts";
import { defineCommand } from "./command.ts";
import {
  type Check,
  checkBroker,
  checkDisk,
  checkEngine,
  checkLeftovers,
  checkMemory,
  checkNode,
  checkPort,
  checkStore,
} from "./doctor-checks.ts";
import { KAFKA, kafkaAccess } from "./kafka-settings.ts";

const CHECK_FAILED = 3;
const SIGNS = { ok: "[ok]", note: "[--]", warning: "[!]", failed: "[x]" };
const ORDER = ["ok", "note", "warning", "failed"] as const;

export const doctor = defineCommand({
  name: "doctor",
  summary: "Check this machine, the broker and the store, and say how to fix what is wrong",
  examples: ["lab doctor", "lab doctor --store s3://lab/tables", "lab doctor --kafka broker:9092 --json"],
  settings: {
    ...KAFKA,
    store: SETTINGS.store,
    data: SETTINGS.data,
    port: setting<number>({
      flag: "--port",
      kind: port,
      default: 8080,
      description: "port of the dashboard",
    }),
  },
  seeAlso: ["up", "status", "reset"],
  async run({ screen, common, env, lab, signal }, values) {
    const dataDir = values.data;
    const checks = (
      await Promise.all([
        checkNode(),
        checkBroker(values.kafka, {
          cacheDir: cacheFolder(env),
          dataDir,
          signal,
          access: () => kafkaAccess(values, { env, lab }),
        }),
        checkEngine(),
        checkMemory(),
        checkDisk(dataDir),
        checkPort(values.port, { name: "dashboard", needed: true, flag: "--port", dataDir }),
        checkPort(9092, { name: "broker", needed: false, flag: "--kafka-port", dataDir }),
        checkStore(values.store, env, signal),
        checkOtherWriters(values.store, signal),
        checkMixedColumns(values.store, signal),
        checkLeftovers(dataDir),
      ])
    ).flat();
    if (common.json) screen.out(`${toJson(checks, 2)}\n`);
    else screen.out(screen.typed(report(checks, screen.outColors)));
    return checks.some(({ verdict }) => verdict === "failed") ? CHECK_FAILED : 0;
  },
});

/** Loaded here, as the next one: it needs the engine, and where that is missing the other checks still run. */
async function checkOtherWriters(store: string, signal: AbortSignal): Promise<Check[]> {
  const found = await import("./doctor-writers.ts").catch(() => null);
  return found === null ? [] : found.checkWriters(store, signal);
}

async function checkMixedColumns(store: string, signal: AbortSignal): Promise<Check[]> {
  const found = await import("./doctor-columns.ts").catch(() => null);
  return found === null ? [] : found.checkColumns(store, signal);
}

/** One line a check, the worst last, each with its fix, and a sum. */
function report(
  checks: readonly Check[],
  { green, yellow, red, dim }: { green: Paint; yellow: Paint; red: Paint; dim: Paint },
): string {
  const paints = { ok: green, note: dim, warning: yellow, failed: red };
  const sorted = [...checks].sort((a, b) => ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict));
  const lines = sorted.flatMap(({ name, verdict, detail, fix }) => [
    `${paints[verdict](SIGNS[verdict].padEnd(4))} ${name.padEnd(14)} ${detail}`,
    ...(fix === undefined ? [] : [`     ${"".padEnd(14)} fix: ${fix}`]),
  ]);
  const count = (verdict: Check["verdict"]) => checks.filter((check) => check.verdict === verdict).length;
  const warnings = count("warning");
  const sum = `${count("ok")} ok, ${warnings} ${warnings === 1 ? "warning" : "warnings"}, ${count("failed")} failed`;
  return `${lines.join("\n")}\n${sum}\n`;
}

type Paint = (text: string) => string;
