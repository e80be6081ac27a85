/** `docs/performance.md`, made of results alone: no number of a measurement in it is written by hand. Pure. */

import { goalsOf } from "./goals.ts";
import { ingestSummary } from "./ingest-summary.ts";
import { exact, table, three, when } from "./markdown.ts";
import { dashboard } from "./page-dashboard.ts";
import { merge } from "./page-merge.ts";
import { commit, open, query } from "./page-tables.ts";
import { PARTS, type Part } from "./profile-parts.ts";
import { newest, type PageRecord } from "./results.ts";
import { spread } from "./spread.ts";

const KINDS: readonly PageRecord["bench"][] = [
  ...([
    "ingest",
    "latency",
    "memory",
    "start",
    "profile",
    "query",
    "open",
    "commit",
    "merge",
    "dashboard",
  ] as const),
];

/** Of all results those that the page tells of: the newest of each benchmark, and of `ingest` and `profile` of each size. */
export function pageRecords(all: readonly { bench: string }[]): PageRecord[] {
  const known = all.filter(({ bench }) => (KINDS as readonly string[]).includes(bench)) as PageRecord[];
  // What `memory` found of many streams has another form and is not told here.
  const told = known.filter((record) => record.bench !== "memory" || "runs" in record.result);
  const sizeOf = (record: PageRecord) => ("size" in record.result ? record.result.size : "");
  const chosen = newest(told, (record) =>
    record.bench === "ingest" || record.bench === "profile"
      ? `${record.bench} ${sizeOf(record)}`
      : record.bench,
  );
  const sizes = ["1k", "2k", "3k", "tiny", ""];
  const rank = (record: PageRecord) => KINDS.indexOf(record.bench) * 10 + sizes.indexOf(sizeOf(record));
  return chosen.sort((a, b) => rank(a) - rank(b));
}

/** `records` as `pageRecords` chooses them. */
export function performancePage(records: readonly PageRecord[]): string {
  const parts = [INTRODUCTION, goals(records), ...records.map(section), METHOD, on(records)];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

const INTRODUCTION = `# Performance

Written by \`lab bench report\` from the results in \`bench/results.ndjson\`, of which it takes the newest of each kind; \`bench/README.md\` has the
commands. Where three numbers stand, they are the smallest, the median and the largest of the rounds.`;

function goals(records: readonly PageRecord[]): string {
  const rows = goalsOf(records).map(({ what, goal, found, isReached }) => [
    what,
    goal,
    found,
    isReached ? "yes" : "no",
  ]);
  return rows.length === 0 ? "" : `## Goals\n\n${table(["what", "goal", "measured", "reached"], rows)}`;
}

function section(record: PageRecord): string {
  switch (record.bench) {
    case "ingest":
      return ingest(record);
    case "latency":
      return latency(record);
    case "memory":
      return memory(record);
    case "start":
      return start(record);
    case "profile":
      return profile(record);
    case "query":
      return query(record);
    case "open":
      return open(record);
    case "commit":
      return commit(record);
    case "merge":
      return merge(record);
    case "dashboard":
      return dashboard(record);
  }
}

type RecordOf<Name extends PageRecord["bench"]> = Extract<PageRecord, { bench: Name }>;

function ingest({ result, ...head }: RecordOf<"ingest">): string {
  const { programs, ratios } = ingestSummary(result);
  const each = Math.round(result.bytes / result.messages);
  const figures = table(
    ["by", "rows/s", "MB/s", "CPU s per million", "peak MB", "bytes written", "of the JSON", "files"],
    programs.map((one) => [
      one.by,
      three(one.rowsPerSecond),
      three(one.megabytesPerSecond),
      three(one.cpuSecondsPerMillion),
      three(one.peakMegabytes),
      exact(one.bytesWritten.median),
      exact(one.writtenShare.median),
      three(one.files),
    ]),
  );
  const compared = table(
    ["ours", "peer", "times less CPU", "times the rows/s", "times less memory"],
    ratios.map(({ ours, peer, cpu, rows, memory }) => [ours, peer, three(cpu), three(rows), three(memory)]),
  );
  const starts = table(
    ["by", "CPU s", "seconds"],
    programs.flatMap(({ by, start }) =>
      start === null ? [] : [[by, three(start.cpuSeconds), three(start.seconds)]],
    ),
  );
  const missing = result.missing.map(({ name, why }) => `Not measured: ${name}, ${why}.`);
  return `## Ingest, messages of ${each} bytes

${exact(result.messages)} messages in ${result.partitions} partitions, ${result.rounds} rounds; ${when(head)}.
${result.size === "1k" ? "\n![CPU seconds for a million messages, by program](images/performance-cpu.svg)\n" : ""}
${figures}
${ratios.length === 0 ? "" : `\n${compared}\n`}
Start and end alone, on a topic without messages; the figures above contain it:

${starts}${missing.length === 0 ? "" : `\n\n${missing.join("\n")}`}`;
}

function latency({ result, ...head }: RecordOf<"latency">): string {
  const rows = result.runs.map(({ rate, bytesEach, visibleMs, ackMs, coreShare, peakBytes }) => [
    `${exact(rate)} of ${exact(bytesEach)} bytes`,
    ...[visibleMs.p50, visibleMs.p99, visibleMs.p999, visibleMs.max, ackMs.p99].map(exact),
    coreShare === null ? "not known" : `${(coreShare * 100).toFixed(1)} %`,
    exact(Math.round(peakBytes / 1e6)),
  ]);
  return `## Latency

From the moment a message is due at the producer until it is visible, in ms, flush after ${exact(result.flushMs)} ms; ${result.seconds} s each; ${when(head)}.

${table(["messages/s", "p50", "p99", "p99.9", "max", "p99 of the ack", "CPU of one core", "peak MB"], rows)}

Visible: a reader that keeps the table open and asks for its latest version every 10 ms gets one whose log holds the message's position, and with it the file
that has its row. Reader, producer and broker share the cores with the ingester.`;
}

function memory({ result, ...head }: RecordOf<"memory">): string {
  const rows = result.runs.map(({ messages, partitions, bytes, seconds, peakBytes }) => [
    ...[exact(messages), exact(partitions), exact(Math.round(bytes / 1e6))],
    ...[exact(seconds), exact(Math.round(peakBytes / 1e6))],
  ]);
  return `## Memory

All messages wait in the broker before the ingester starts, at default settings; messages of ${result.size}; ${when(head)}.

![Resident memory of the ingester over time](images/performance-memory.svg)

${table(["messages", "partitions", "MB waiting", "seconds", "peak MB resident"], rows)}`;
}

function start({ result, ...head }: RecordOf<"start">): string {
  const of = (pick: (round: (typeof result.rounds)[number]) => number) =>
    three(spread(result.rounds.map(pick)));
  const rows = [
    ["`git clone`", of(({ clone }) => clone)],
    ["`npm ci`, packages in npm's cache", of(({ npmCi }) => npmCi)],
    ["first `npm start` to the first row in a table", of(({ firstStart }) => firstStart)],
    ["the next one", of(({ nextStart }) => nextStart)],
  ];
  return `## Start

A fresh clone to its first row, Kafka's files in the user's cache; ${result.rounds.length} clones; ${when(head)}.

${table(["step", "seconds"], rows)}`;
}

function profile({ result, ...head }: RecordOf<"profile">): string {
  const perMillion = (seconds: number) => ((seconds / result.messages) * 1e6).toFixed(2);
  const rows = (Object.entries(result.parts) as [Part, number][]).map(([part, seconds]) => [
    PARTS[part],
    perMillion(seconds),
    `${((seconds / result.cpuSeconds) * 100).toFixed(1)} %`,
  ]);
  return `## Where the CPU goes, messages of ${Math.round(result.bytes / result.messages)} bytes

${exact(result.messages)} messages; ${when(head)}. The process is sampled once a millisecond; what is known only by thread stands as such.
Without a profiler the same took ${perMillion(result.plainCpuSeconds)} CPU s per million.

${table(["part", "CPU s per million", "share"], [...rows, ["all of the process", perMillion(result.cpuSeconds), "100 %"]])}`;
}

const METHOD = `## How it is measured

- One broker of its own, on the same cores, a topic of seeded events as \`bench/events.ts\` makes them: nested web-shop events, or tiny ones of four fields.
  In each round every program takes in the whole topic, one after the other, in alternating order; ratios are between runs of one round.
- Each table is counted by Python's deltalake: a run in which a message is missing or double ends the benchmark.
- Ours is \`lab ingest --once --partition-by date\` with all that is on by default: the \`_kafka\` column, dead letters, checksums, exactly once. \`lab, clone\` is
  \`node bin/lab.js\`, whose sources were built before; \`lab, compiled\` is what an image has. Time and CPU are of the whole process from start to end, all threads, loading and
  joining the group included.
- \`kdi\` is kafka-delta-ingest with the four transforms that keep date and Kafka's position, \`kdi-plain\` without; batches of 100,000 messages, rows held back 10 s at most. It
  waits for a clock before it writes its last rows: of its time only that counts in which it used a tenth of a core or more.
- Spark is Structured Streaming with a trigger that ends when all is read; its rows/s begin when it has started, its CPU includes the start of its virtual machine,
  its memory is that of the virtual machine alone.
- MB are millions of bytes. Peak memory is the most that was resident.

Not shown by this: other machines, other messages, brokers and stores behind a network. The ratios hold better than the numbers.`;

function on(records: readonly PageRecord[]): string {
  const machines = new Set(
    records.map(
      ({ machine: { cores, cpu, memoryBytes, kernel } }) =>
        `${cores} cores (${cpu}), ${(memoryBytes / 2 ** 30).toFixed(0)} GiB, ${kernel}`,
    ),
  );
  const versions = new Map<string, Set<string>>();
  for (const record of records)
    for (const [program, version] of Object.entries(record.versions))
      versions.set(program, (versions.get(program) ?? new Set()).add(version));
  const rows = [...versions].map(([program, all]) => [program, [...all].join(", ")]);
  return `## On

${[...machines].map((machine) => `- ${machine}`).join("\n")}

${table(["program", "version"], rows)}`;
}
