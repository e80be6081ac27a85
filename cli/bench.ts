/** `lab bench`: measures, with everything it needs started and removed again. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EVENT_SIZES, type EventSize } from "../bench/events.ts";
import { PEERS, type PeerName } from "../bench/peers.ts";
import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { bytes, choice, duration, integer, list, named, toggle } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { defineCommand } from "./command.ts";

/** Where those who work on the lab have the programs that it is compared with. */
const REFEREES = fileURLToPath(new URL("../../shared", import.meta.url));

export const bench = defineCommand({
  name: "bench",
  summary:
    "Measure how fast and how cheaply messages get into a table, commits into its log, tables open, queries over many files, and what many streams take in memory",
  args: [{ name: "what", description: "ingest, commit, open, query or memory", required: true }],
  examples: [
    "lab bench ingest",
    "lab bench ingest --messages 1000000 --size 1k --peers kdi,spark --json",
    "lab bench commit --writers 8",
    "lab bench commit --store s3://lab/bench",
    "lab bench open --files 1000000 --rounds 3",
    "lab bench query --files 20000 --rounds 5",
    "lab bench memory --streams 50 --outage 60s",
  ],
  settings: {
    messages: setting<number>({
      flag: "--messages",
      kind: integer(1),
      default: 500_000,
      description: "ingest: messages in the topic",
    }),
    size: setting<EventSize | undefined>({
      flag: "--size",
      kind: choice(...EVENT_SIZES),
      default: undefined,
      defaultText: "1k",
      description: "ingest: how large a message is: 104, 976, 2190 or 2990 bytes of JSON",
    }),
    peers: setting<(PeerName | "none")[]>({
      flag: "--peers",
      kind: list(choice(...PEERS, "none")),
      default: [...PEERS],
      description:
        "ingest: what to compare with: kafka-delta-ingest with its usual transforms and without, Spark; or none",
    }),
    referees: setting<string>({
      flag: "--referees",
      kind: named("folder"),
      default: "",
      defaultText: "../shared beside the checkout",
      description: "ingest: the folder whose peers/ has their programs",
    }),
    seed: setting<number>({
      flag: "--seed",
      kind: integer(0, 2 ** 31),
      default: 1,
      description: "ingest: what they are made from",
    }),
    partitions: setting<number | undefined>({
      flag: "--partitions",
      kind: integer(1, 1000),
      default: undefined,
      description: "ingest: partitions of the topic, 4 unless given; memory: of all topics, 4 each",
    }),
    kafka: setting<string>({
      flag: "--kafka",
      kind: named("auto|docker|jvm|HOST:PORT"),
      default: "jvm",
      description: "ingest and memory: the broker to measure with; one of its own unless an address is given",
    }),
    writers: setting<number>({
      flag: "--writers",
      kind: integer(1, 100),
      default: 8,
      description: "commit: processes that race for one table",
    }),
    commits: setting<number | undefined>({
      flag: "--commits",
      kind: integer(1),
      default: undefined,
      description:
        "commit: commits of each writer, 100 unless given; open: commits of the table, 5000 unless given",
    }),
    store: setting<string | undefined>({
      flag: "--store",
      env: "LAB_BENCH_STORE",
      kind: named("folder|s3://bucket/prefix"),
      default: undefined,
      description:
        "commit: where the tables are made and removed again; a local folder of its own unless given",
    }),
    python: setting<string>({
      flag: "--python",
      kind: named("program"),
      default: "python3",
      description: "commit: an interpreter with deltalake, to compare with; left out where it has none",
    }),
    files: setting<number | undefined>({
      flag: "--files",
      kind: integer(40, 1_000_000),
      default: undefined,
      description: "query and open: data files of the table; 2000 and 100000 unless given",
    }),
    rounds: setting<number | undefined>({
      flag: "--rounds",
      kind: integer(1, 1000),
      default: undefined,
      description: "how often everything is measured: ingest 3 times, query and open 11 unless given",
    }),
    streams: setting<number | undefined>({
      flag: "--streams",
      kind: integer(1, 1000),
      default: undefined,
      defaultText: "50",
      description: "memory: streams in one process",
    }),
    backlog: setting<number | undefined>({
      flag: "--backlog",
      kind: bytes,
      default: undefined,
      defaultText: "1GB",
      description: "memory: raw bytes that wait in the broker",
    }),
    outage: setting<number | undefined>({
      flag: "--outage",
      kind: duration,
      default: undefined,
      defaultText: "60s",
      description: "memory: how long the store is away",
    }),
    budget: setting<number>({
      flag: "--budget",
      kind: bytes,
      default: 256 * 1024 * 1024,
      description: "memory: the ingester's --budget",
    }),
    memory: setting<number>({
      flag: "--memory",
      kind: bytes,
      default: 256 * 1024 * 1024,
      description: "memory: the ingester's --memory, of the encoder",
    }),
    small: setting<boolean>({
      flag: "--small",
      kind: toggle,
      default: false,
      description: "memory: 10 streams, 100 MB and 10 s unless given, for a quick look",
    }),
  },
  stops: "gracefully",
  seeAlso: ["ingest"],
  async run({ screen, openLog, signal, common }, values, [what]) {
    const say = screen.note;
    const tables = await import("./bench-tables.ts");
    const print = <T>(result: T, table: (result: T) => string) =>
      screen.out(common.json ? `${toJson(result, 2)}\n` : table(result));
    if (what === "ingest") {
      const { benchIngest } = await import("../bench/ingest.ts");
      const { seed, messages, kafka, partitions = 4, size = "1k", rounds = 3 } = values;
      const result = await benchIngest({
        ...{
          messages,
          size,
          seed,
          partitions,
          rounds,
          kafka,
          log: await openLog(),
          say,
          now: Date.now,
          signal,
        },
        peers: PEERS.filter((name) => values.peers.includes(name)),
        peersFolder: join(values.referees || REFEREES, "peers"),
      });
      print(result, tables.ingestTable);
    } else if (what === "commit") {
      const { benchCommit } = await import("../bench/commit.ts");
      print(
        await benchCommit({ ...values, commits: values.commits ?? 100, say, signal }),
        tables.commitTable,
      );
    } else if (what === "query") {
      const { benchQuery } = await import("../bench/query.ts");
      print(
        await benchQuery({
          ...values,
          files: values.files ?? 2000,
          rounds: values.rounds ?? 11,
          say,
          signal,
        }),
        tables.queryTable,
      );
    } else if (what === "open") {
      const { benchOpen } = await import("../bench/open.ts");
      const { files = 100_000, commits = 5000, rounds = 11 } = values;
      print(await benchOpen({ files, commits, rounds, say, signal }), tables.openTable);
    } else if (what === "memory") {
      const { benchMemory } = await import("../bench/memory.ts");
      const { memoryChart } = await import("../bench/memory-chart.ts");
      const streams = values.streams ?? (values.small ? 10 : 50);
      const result = await benchMemory({
        ...{ streams, partitions: values.partitions ?? streams * 4, seed: values.seed, kafka: values.kafka },
        backlogBytes: values.backlog ?? (values.small ? 100e6 : 1e9),
        outageSeconds: (values.outage ?? (values.small ? 10_000 : 60_000)) / 1000,
        ...{ budgetBytes: values.budget, encoderBytes: values.memory },
        ...{ log: await openLog(), say, signal },
      });
      print(result, (found) => tables.memoryTable(found, memoryChart(found.samples, found.limitBytes)));
      return result.isWithin ? 0 : 3;
    } else
      throw new LabError("USAGE", `no such benchmark: ${what}`, {
        hint: "lab bench ingest, lab bench commit, lab bench open, lab bench query, or lab bench memory",
      });
    return 0;
  },
});
