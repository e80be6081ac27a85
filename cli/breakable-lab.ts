/** How a lab that runs is given a second worker, and how it begins anew. */

import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { isLabError } from "../core/errors.ts";
import { sleep } from "../core/retry.ts";
import type { S3Settings } from "../delta/store/s3-settings.ts";
import { tableNameOf } from "../ingest/identity.ts";
import type { Kafka } from "../kafka/ports.ts";
import type { CutProxy } from "../services/cut-proxy.ts";
import type { Supervisor } from "../services/supervisor.ts";
import type { KafkaAccess } from "./kafka-settings.ts";
import type { BreakableLab } from "./lab-orders.ts";
import type { LabStream } from "./lab-yaml.ts";
import type { PlannedChild, UpPlan } from "./up-plan.ts";

export function breakableLab(options: {
  supervisor: Supervisor;
  plan: UpPlan;
  streams: readonly LabStream[];
  store: string;
  s3: S3Settings;
  cable: CutProxy | null;
  access: KafkaAccess;
  isOwnBroker: boolean;
  connectTimeoutMs: number;
  start(child: PlannedChild): Promise<void>;
}): BreakableLab {
  const { supervisor, plan, cable, isOwnBroker } = options;
  let workers = 1;
  return {
    s3: cable,
    brokerRefusal: isOwnBroker ? null : "the broker is not the lab's own",
    async startWorker(like) {
      const child = plan.children.find(({ name, kind }) => name === like && kind === "ingest");
      const { args, kind } = child ?? plan.children.find((one) => one.kind === "ingest")!;
      const name = `ingest-worker-${++workers}`;
      await options.start({ name, kind, args });
      return name;
    },
    async reset(signal) {
      const names = plan.children.filter(({ kind }) => kind !== "dashboard").map(({ name }) => name);
      const running = supervisor
        .parts()
        .filter(({ name, state }) => names.includes(name) && state === "ready");
      const releases = await Promise.all(running.map(({ name }) => supervisor.hold(name)));
      try {
        const tables = await deleteTables(options, signal);
        const topics = await makeTopicsAnew(options, signal);
        return [
          `ended ${running.map(({ name, pid }) => `${name} (pid ${pid})`).join(", ")}`,
          `deleted ${tables.length === 0 ? "no tables" : tables.join(", ")}`,
          `made ${topics.join(", ")} anew`,
        ];
      } finally {
        for (const release of releases) release();
      }
    },
  };
}

/** The tables of the streams and those beside them: letters, states, routes. */
async function deleteTables(
  { streams, store: root, s3 }: { streams: readonly LabStream[]; store: string; s3: S3Settings },
  signal: AbortSignal,
): Promise<string[]> {
  const { openStore } = await import("../delta/store/open.ts");
  const own = streams.map(({ topic, table }) => table ?? tableNameOf(topic));
  const isOurs = (name: string) => own.some((table) => name === table || name.startsWith(`${table}__`));
  const store = await openStore(root, { signal, s3 });
  const found = new Set<string>();
  try {
    for await (const { path } of store.list("", { signal })) {
      const [name = ""] = path.split("/");
      if (!isOurs(name)) continue;
      found.add(name);
      if (!store.root.startsWith("file:")) await store.delete(path, signal);
    }
    // Without its folders a local table is gone, and not only empty.
    if (store.root.startsWith("file:"))
      for (const name of found)
        await rm(fileURLToPath(`${store.root}/${encodeURIComponent(name)}`), {
          recursive: true,
          force: true,
        });
  } finally {
    await store.close();
  }
  return [...found].sort();
}

const MAKE_AGAIN_MS = 300;
const MAKE_DEADLINE_MS = 30_000;

async function makeTopicsAnew(
  { plan, access, connectTimeoutMs }: { plan: UpPlan; access: KafkaAccess; connectTimeoutMs: number },
  signal: AbortSignal,
): Promise<string[]> {
  const { connectKafka } = await import("../kafka/client.ts");
  const kafka: Kafka = connectKafka({ ...access, clientId: "lab-reset", connectTimeoutMs });
  const admin = await kafka.admin();
  try {
    for (const { topic } of plan.topics)
      await admin.deleteTopic(topic).catch((error: unknown) => {
        if (!isLabError(error, "TOPIC_MISSING")) throw error;
      });
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(MAKE_DEADLINE_MS)]);
    // The broker deletes afterwards: until then the name is taken, or the old partitions still answer.
    for (const { topic, partitions } of plan.topics)
      while (!(await admin.createTopic(topic, { partitions }).catch(() => false)))
        await sleep(MAKE_AGAIN_MS, deadline);
  } finally {
    await admin.close();
  }
  return plan.topics.map(({ topic }) => topic);
}
