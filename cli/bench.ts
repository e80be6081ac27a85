/** `lab bench`: measures, with everything it needs started and removed again. */

import type { IngestBenchResult } from "../bench/ingest.ts";
import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { integer, named } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { defineCommand } from "./command.ts";

export const bench = defineCommand({
  name: "bench",
  summary: "Measure how fast and how cheaply messages get into a table",
  args: [{ name: "what", description: "ingest", required: true }],
  examples: ["lab bench ingest", "lab bench ingest --messages 1000000 --json"],
  settings: {
    messages: setting<number>({
      flag: "--messages",
      kind: integer(1),
      default: 500_000,
      description: "messages of about 1 KB of JSON",
    }),
    seed: setting<number>({
      flag: "--seed",
      kind: integer(0, 2 ** 31),
      default: 1,
      description: "what they are made from",
    }),
    partitions: setting<number>({
      flag: "--partitions",
      kind: integer(1, 1000),
      default: 4,
      description: "partitions of the topic",
    }),
    kafka: setting<string>({
      flag: "--kafka",
      kind: named("auto|docker|jvm|HOST:PORT"),
      default: "jvm",
      description: "the broker to measure with; one of its own unless an address is given",
    }),
  },
  stops: "gracefully",
  seeAlso: ["ingest"],
  async run({ screen, log, signal, common }, values, [what]) {
    if (what !== "ingest")
      throw new LabError("USAGE", `no such benchmark: ${what}`, { hint: "lab bench ingest" });
    const { benchIngest } = await import("../bench/ingest.ts");
    const result = await benchIngest({ ...values, log, say: screen.note, signal });
    screen.out(common.json ? `${toJson(result, 2)}\n` : table(result));
    return 0;
  },
});

function table(result: IngestBenchResult): string {
  const exact = (value: number) => value.toLocaleString("en");
  const rows: [string, string][] = [
    ["messages", `${exact(result.messages)} of ${Math.round(result.bytes / result.messages)} bytes`],
    ["time", `${result.seconds} s, start-up and group join included`],
    ["messages/s", exact(result.messagesPerSecond)],
    ["MB/s", String(result.megabytesPerSecond)],
    ["CPU s per million", `${result.cpuSecondsPerMillion} (user and system, all threads)`],
    ["peak memory", `${result.peakMegabytes} MB`],
    [
      "written",
      `${exact(result.bytesWritten)} bytes in ${result.files} files, ${(result.bytesWritten / result.bytes).toFixed(3)} of the JSON`,
    ],
  ];
  return rows.map(([name, value]) => `${name.padEnd(18)} ${value}\n`).join("");
}
