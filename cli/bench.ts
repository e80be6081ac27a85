/** `lab bench`: measures, with everything it needs started and removed again. */

import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { BENCH_SETTINGS } from "./bench-settings.ts";
import { defineCommand } from "./command.ts";

export const bench = defineCommand({
  name: "bench",
  summary:
    "Measure how fast and how cheaply messages get into a table, how soon they are seen, where the CPU goes, what many take in memory, and more",
  args: [
    {
      name: "what",
      description:
        "ingest, latency, start, memory, profile, replay, merge, commit, open, query or dashboard; report writes the page",
      required: true,
    },
  ],
  examples: [
    "lab bench ingest",
    "lab bench ingest --messages 1000000 --size 1k --peers kdi,spark --json",
    "lab bench latency --rates 100,3000,10000",
    "lab bench start",
    "lab bench memory --messages 3600000 --partitions 200",
    "lab bench memory --streams 50 --outage 60s",
    "lab bench profile",
    "lab bench replay --messages 1000000",
    "lab bench merge --messages 1000000 --commits 200",
    "lab bench commit --writers 8",
    "lab bench commit --store s3://lab/bench",
    "lab bench open --files 1000000 --rounds 3",
    "lab bench query --files 20000 --rounds 5",
    "lab bench dashboard --commits 5000",
    "lab bench report                docs/performance.md from the results that --results kept",
  ],
  settings: BENCH_SETTINGS,
  stops: "gracefully",
  seeAlso: ["ingest"],
  async run({ screen, openLog, signal, common }, values, [what = ""]) {
    const { BENCHES, writeReport } = await import("./bench-runs.ts");
    if (what === "report") {
      for (const file of await writeReport(values.results)) screen.note(`written: ${file}`);
      return 0;
    }
    const one = BENCHES[what];
    if (one === undefined)
      throw new LabError("USAGE", `no such benchmark: ${what}`, {
        hint: `lab bench ${Object.keys(BENCHES).join(", ")} or report`,
      });
    const { measurement } = await import("../bench/machine.ts");
    const { appendResult } = await import("../bench/results.ts");
    if (values.results !== undefined) await appendResult(values.results, null);
    const head = await measurement(Date.now());
    const {
      result,
      text,
      versions = {},
      exit = 0,
    } = await one(values, {
      say: screen.note,
      log: await openLog(),
      now: Date.now,
      signal,
    });
    const record = { bench: what, ...head, versions: { ...head.versions, ...versions }, result };
    if (values.results !== undefined) await appendResult(values.results, record);
    screen.out(common.json ? `${toJson(record, 2)}\n` : text);
    return exit;
  },
});
