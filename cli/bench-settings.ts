/** What the benchmarks of `lab bench` take. */

import { EVENT_SIZES, type EventSize } from "../bench/events.ts";
import { PEERS, type PeerName } from "../bench/peers.ts";
import { bytes, choice, duration, integer, list, named, toggle } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";

/** Each says for which benchmarks it is. */
export const BENCH_SETTINGS = {
  messages: setting<number | undefined>({
    flag: "--messages",
    kind: integer(1),
    default: undefined,
    description:
      "ingest and profile: messages in the topic, 500000 unless given; memory: 3600000 unless given; merge: rows of the table, 1000000 unless given",
  }),
  size: setting<EventSize | undefined>({
    flag: "--size",
    kind: choice(...EVENT_SIZES),
    default: undefined,
    description:
      "all that produce: how large a message is: 104, 976, 2190 or 2990 bytes of JSON; 1k unless given, for latency 2k",
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
    description: "all that produce: what messages are made from",
  }),
  partitions: setting<number | undefined>({
    flag: "--partitions",
    kind: integer(1, 1000),
    default: undefined,
    description:
      "partitions of the topic, 4 unless given; memory: of its widest topic, 200 unless given, and with --streams of all topics, 4 each",
  }),
  kafka: setting<string>({
    flag: "--kafka",
    kind: named("auto|docker|jvm|HOST:PORT"),
    default: "jvm",
    description: "all that produce: the broker to measure with; one of its own unless an address is given",
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
      "commit: commits of each writer, 100 unless given; open: commits of the table, 5000 unless given; merge: batches of 1000 changes, 120 unless given",
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
    description:
      "how often everything is measured: ingest, start and dashboard 3 times, query and open 11 unless given",
  }),
  streams: setting<number | undefined>({
    flag: "--streams",
    kind: integer(1, 1000),
    default: undefined,
    description:
      "memory: so many streams in one process, and a store that goes away; 50 with --backlog or --outage",
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
  rates: setting<number[]>({
    flag: "--rates",
    kind: list(integer(1, 1_000_000)),
    default: [100, 3_000, 10_000],
    description: "latency: messages a second, one after the other",
  }),
  for: setting<number>({
    flag: "--for",
    kind: duration,
    default: 60_000,
    description: "latency: how long each rate is measured, after its warm-up",
  }),
  results: setting<string | undefined>({
    flag: "--results",
    kind: named("file"),
    default: undefined,
    description:
      "where a line of JSON with the result is added; report: what the page is written from, bench/results.ndjson unless given",
  }),
} as const;
