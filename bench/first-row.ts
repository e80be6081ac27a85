/** How soon `lab query` shows its first row, with the start of its process in it. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import { makeQueryTable, SMALL_FILES } from "./query-table.ts";
import { type Spread, spread } from "./spread.ts";

export type FirstRow = {
  /** As in `QueryBenchResult`. */
  process: "cold" | "compiled";
  files: number;
  /** From the start of the process to the first row on its output. */
  ms: Spread;
};

/** Files of the table that is asked. */
const FILES = 100;
const SQL = "SELECT id, device, amount FROM t LIMIT 10";

/** `programs` take turns; the first round, in which caches warm up, does not count. INTERNAL where no row comes. */
export async function benchFirstRow(
  programs: Readonly<Record<FirstRow["process"], string>>,
  folder: string,
  rounds: number,
  signal: AbortSignal,
): Promise<FirstRow[]> {
  const store = join(folder, "first-row");
  await mkdir(store);
  await makeQueryTable(join(store, "t"), { files: FILES, ...SMALL_FILES }, signal);
  const times = { cold: [] as number[], compiled: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    for (const process of ["cold", "compiled"] as const) {
      const ms = await firstRowMs(programs[process], store, signal);
      if (round > 0) times[process].push(ms);
    }
  }
  return (["cold", "compiled"] as const).map((one) => ({
    ...{ process: one, files: FILES, ms: spread(times[one]) },
  }));
}

async function firstRowMs(lab: string, store: string, signal: AbortSignal): Promise<number> {
  const args = [lab, "query", SQL, "--store", store, "--format", "csv"];
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, { cwd: store, stdio: ["ignore", "pipe", "pipe"], signal });
  const closed = once(child, "close");
  let [said, complaint] = ["", ""];
  let ms: number | undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
    // The head comes first.
    if (ms === undefined && /\n.*\n/.test(said)) ms = performance.now() - startedMs;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaint += text;
  });
  await closed;
  if (ms === undefined) throw new LabError("INTERNAL", `lab query gave no row: ${complaint.slice(-1000)}`);
  return ms;
}
