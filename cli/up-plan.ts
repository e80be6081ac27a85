/** What `lab up` starts, decided before anything is: services, topics, and the processes of our own with their arguments. */

import { join } from "node:path";
import { tableNameOf, tableNameOfUri } from "../ingest/identity.ts";
import type { Intervals } from "../upkeep/schedule.ts";
import { DEMO_PRODUCERS } from "./demo.ts";
import type { LabStream, LabYaml } from "./lab-yaml.ts";
import { speaksOfUpkeep, UPKEEP_DEFAULT, upkeepKind } from "./upkeep-plan.ts";

export type UpChoices = {
  only: readonly ("kafka" | "s3")[];
  store: string;
  data: string;
  app: string;
  host: string;
  port: number;
  verbose: boolean;
  /** The streams are the user's, and so is the broker: nothing is produced to it unasked. */
  isForeignBroker?: boolean;
  /** Absent: as lab.yaml says, and where it says nothing as a lab does. */
  upkeep?: Intervals | undefined;
};

/** A process of the lab: `lab KIND ARGS`. */
export type PlannedChild = {
  name: string;
  kind: string;
  args: string[];
  /** One of many alike: they start and stop together, and one that cannot start leaves the others as they are. */
  isOneOfMany?: boolean;
};

export type UpPlan = {
  kafka: boolean;
  s3: boolean;
  /** Bucket of the store, made if the S3 server is started here. */
  bucket: string | null;
  topics: { topic: string; partitions: number }[];
  /** In the order of their start; they stop in the reverse one. */
  children: PlannedChild[];
};

const OTHER_PARTITIONS = 3;

/**
 * `lab` is ./lab.yaml or the demo's; `config` is the file that the children read. Producers run for the demo's topics only: other
 * topics have producers of their own.
 */
export function planUp(choices: UpChoices, lab: LabYaml, config: string): UpPlan {
  const bucket = /^s3:\/\/([^/]+)/i.exec(choices.store)?.[1] ?? null;
  if (choices.only.length > 0) {
    const s3 = choices.only.includes("s3");
    return {
      kafka: choices.only.includes("kafka"),
      s3,
      bucket: s3 ? bucket : null,
      topics: [],
      children: [],
    };
  }
  const topics = [...new Set(lab.streams.map(({ topic }) => topic))];
  const demo = choices.isForeignBroker ? [] : DEMO_PRODUCERS.filter(({ topic }) => topics.includes(topic));
  const common = ["--data", choices.data, "--config", config, "--ops-port", "0"];
  const verbose = choices.verbose ? ["--verbose"] : [];
  const store = ["--store", choices.store];
  const upkeep =
    choices.upkeep !== undefined
      ? ["--upkeep", upkeepKind.show(choices.upkeep)]
      : speaksOfUpkeep(lab)
        ? []
        : ["--upkeep", UPKEEP_DEFAULT];
  return {
    kafka: true,
    s3: bucket !== null,
    bucket,
    topics: topics.map((topic) => ({
      topic,
      partitions: demo.find((one) => one.topic === topic)?.partitions ?? OTHER_PARTITIONS,
    })),
    children: [
      {
        name: "dashboard",
        kind: "dashboard",
        args: [...["--host", choices.host, "--port", String(choices.port)], ...store, ...common, ...verbose],
      },
      ...ingestersOf(lab).map(({ name, only }) => ({
        name,
        kind: "ingest",
        args: [...["--app", choices.app], ...only, ...upkeep, ...store, ...common, ...verbose],
        ...(lab.processes === "each" ? { isOneOfMany: true } : {}),
      })),
      ...demo.map(({ topic, args }) => ({
        name: `produce-${topic}`,
        kind: "produce",
        args: ["--topic", topic, ...args, ...common, ...verbose],
      })),
    ],
  };
}

/** One ingester, or with `processes: each` one for each stream that a name can tell from the others, and else for each topic. */
function ingestersOf({ streams, processes }: LabYaml): { name: string; only: string[] }[] {
  if (streams.length === 0) return [];
  if (processes !== "each") return [{ name: "ingest", only: [] }];
  const tableOf = ({ topic, table }: LabStream) => table ?? tableNameOf(topic);
  const isAlone = (name: string) =>
    streams.filter((stream) => stream.topic === name || tableOf(stream) === name).length === 1;
  const names = new Set<string>();
  for (const { topic } of streams) {
    const tables = streams.filter((stream) => stream.topic === topic).map(tableOf);
    if (tables.length > 1 && tables.every(isAlone)) for (const table of tables) names.add(table);
    else names.add(topic);
  }
  const taken = new Map<string, number>();
  return [...names].map((only) => {
    const name = `ingest-${tableNameOfUri(only).replace(/[^A-Za-z0-9._-]/g, "_")}`;
    const count = (taken.get(name) ?? 0) + 1;
    taken.set(name, count);
    return { name: count === 1 ? name : `${name}-${count}`, only: ["--stream", only] };
  });
}

/** Where the demo's streams are written down for the children. */
export function demoFile(data: string): string {
  return join(data, "demo.yaml");
}
