/** What `lab up` starts, decided before anything is: services, topics, and the processes of our own with their arguments. */

import { join } from "node:path";
import type { Intervals } from "../upkeep/schedule.ts";
import { DEMO_PRODUCERS } from "./demo.ts";
import type { LabYaml } from "./lab-yaml.ts";
import { speaksOfUpkeep, UPKEEP_DEFAULT, upkeepKind } from "./upkeep-plan.ts";

export type UpChoices = {
  only: readonly ("kafka" | "s3")[];
  store: string;
  data: string;
  app: string;
  host: string;
  port: number;
  verbose: boolean;
  /** Absent: as lab.yaml says, and where it says nothing as a lab does. */
  upkeep?: Intervals | undefined;
};

/** A process of the lab: `lab KIND ARGS`. */
export type PlannedChild = { name: string; kind: string; args: string[] };

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
  const demo = DEMO_PRODUCERS.filter(({ topic }) => topics.includes(topic));
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
      ...(topics.length === 0
        ? []
        : [
            {
              name: "ingest",
              kind: "ingest",
              args: [...["--app", choices.app], ...upkeep, ...store, ...common, ...verbose],
            },
          ]),
      ...demo.map(({ topic, args }) => ({
        name: `produce-${topic}`,
        kind: "produce",
        args: ["--topic", topic, ...args, ...common, ...verbose],
      })),
    ],
  };
}

/** Where the demo's streams are written down for the children. */
export function demoFile(data: string): string {
  return join(data, "demo.yaml");
}
