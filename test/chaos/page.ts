/** `docs/reliability.md`, made of results alone: no number in it is written by hand. */

import { readFileSync } from "node:fs";
import type { Outcome, Scenario } from "./scenario.ts";

/** Results as `--out` wrote them, a line each. */
export function readOutcomes(file: string | URL): Outcome[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Outcome);
}

export function reliabilityPage(all: readonly Outcome[], scenarios: readonly Scenario[]): string {
  const run = all.filter(({ notRun }) => notRun === undefined);
  const sum = (pick: (outcome: Outcome) => number, of: readonly Outcome[] = run) =>
    of.reduce((total, outcome) => total + pick(outcome), 0);
  const failed = run.filter(({ failure }) => failure !== undefined);
  const seeds = [...new Set(run.map(({ seed }) => seed))];
  const dates = run.map(({ at }) => at.slice(0, 10)).sort();
  const machines = [...new Set(run.map(({ machine }) => machine))];
  const faults = new Map<string, number>();
  for (const outcome of run)
    for (const [kind, times] of Object.entries(outcome.faults))
      faults.set(kind, (faults.get(kind) ?? 0) + times);

  const rows = scenarios.map(({ name, injects, expects }) => {
    const mine = run.filter(({ scenario }) => scenario === name);
    const peak = Math.max(0, ...mine.map(({ peakMiB }) => peakMiB));
    const cells = [`\`${name}\``, injects, expects, mine.length, sum(({ messages }) => messages, mine)];
    return `| ${[...cells, sum(({ lost }) => lost, mine), sum(({ doubled }) => doubled, mine), peak].join(" | ")} |`;
  });
  const notRun = all.filter((outcome) => outcome.notRun !== undefined);
  return `# Reliability

Written by the chaos suite from its results (\`test/chaos/results.ndjson\`, a line per scenario and seed); \`npm run chaos\` repeats it, on a real Kafka, a
real S3 server or a local disk, and real processes. After each scenario the ledger is counted by readers that are not ours: the topic by Apache Kafka's
Java consumer, the tables by Python's deltalake. Produced must be rows + letters + skipped, each record once, with its content by hash.

| | |
| --- | --- |
| runs of a scenario | ${run.length}, with ${seeds.length} seeds (${seeds.join(", ")}) |
| of them failed | ${failed.length} |
| faults | ${[...faults.values()].reduce((a, b) => a + b, 0)} |
| messages | ${sum(({ messages }) => messages)} |
| rows, letters, skipped | ${sum(({ rows }) => rows)}, ${sum(({ letters }) => letters)}, ${sum(({ skipped }) => skipped)} |
| lost | ${sum(({ lost }) => lost)} |
| doubled | ${sum(({ doubled }) => doubled)} |
| peak memory of an ingester | ${Math.max(0, ...run.map(({ peakMiB }) => peakMiB))} MiB |
| when | ${dates[0] ?? "-"} to ${dates.at(-1) ?? "-"} |
| on | ${machines.join("; ")} |

## Faults by kind

| fault | times |
| --- | --- |
${[...faults]
  .sort(([a], [b]) => a.localeCompare(b))
  .map(([kind, times]) => `| ${kind} | ${times} |`)
  .join("\n")}

## Scenarios

| scenario | does | then | runs | messages | lost | doubled | peak MiB |
| --- | --- | --- | --- | --- | --- | --- | --- |
${rows.join("\n")}
${section(
  "Failed",
  failed.map(
    ({ scenario, seed, failure, note }) =>
      `\`${scenario}\`, seed ${seed}: ${firstLine(failure)}${note === undefined ? "" : ` (${note})`}`,
  ),
)}${section(
  "Not run",
  notRun.map(({ scenario, seed, notRun: why }) => `\`${scenario}\`, seed ${seed}: ${firstLine(why)}`),
)}`;
}

const firstLine = (text = "") => text.split("\n")[0] ?? "";
const section = (title: string, lines: readonly string[]) =>
  lines.length === 0 ? "" : `\n## ${title}\n\n${lines.map((line) => `- ${line}`).join("\n")}\n`;
