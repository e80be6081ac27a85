/** Causes the page's faults: tells the parts, through their run files, and sends messages nobody would send. */

import { randomInt } from "node:crypto";
import { isLabError, LabError } from "../core/errors.ts";
import { type ChaosControl, FAULTS, type FaultName, type Target } from "../dashboard/chaos.ts";
import type { Kafka, OutgoingRecord, Sink } from "../kafka/ports.ts";
import { ordersSource } from "../producer/orders.ts";
import { type RunFile, readRunFile, runFilePath } from "../services/run-file.ts";
import { LAB_PART } from "./serve-supervisor.ts";

export type ChaosStream = { topic: string; format: string; isDemo: boolean };

const BURST = 100_000;
const BURST_AT_ONCE = 1_000;
/** Beyond the numbers of the demo's own orders. */
const BURST_FROM = 1_000_000;
const ORDER_MS = 60_000;
const CONTAINERS = "only lab up keeps the processes; of containers, docker compose stop and start do it";

export function createLabChaos(options: {
  data: string;
  kafka: Kafka;
  token: string;
  streams: readonly ChaosStream[];
  now: () => number;
}): ChaosControl & { close(): Promise<void> } {
  const { data, kafka, token, streams, now } = options;
  let sink: Promise<Sink> | null = null;
  let frozen: { pid: number } | null = null;

  const part = async (name: string): Promise<RunFile> => {
    const file = await readRunFile(runFilePath(data, name));
    if (file === null || file.opsPort === null)
      throw new LabError("REQUEST_INVALID", `${name} does not run`, { hint: "wait until it is back" });
    return file;
  };
  const tell = async (name: string, order: string, body: unknown, signal: AbortSignal) =>
    post(await part(name), order, body, { token, signal });
  const send = async (topic: string, values: readonly string[]): Promise<string> => {
    sink ??= kafka.sink({ acks: "all", idempotent: true });
    const records = values.map((value): OutgoingRecord => ({ key: null, value }));
    const acked = await (
      await sink.catch((error: unknown) => {
        sink = null;
        throw error;
      })
    ).send(topic, records);
    return acked
      .map(
        ({ partition, baseOffset }) => `${topic}-${partition} from offset ${baseOffset.toLocaleString("en")}`,
      )
      .join(", ");
  };
  const ingesterOf = ({ ingester }: Target): string => {
    if (ingester === null) throw new LabError("REQUEST_INVALID", "no ingester reads this topic now");
    return ingester;
  };

  const cause: Record<FaultName, (target: Target, signal: AbortSignal) => Promise<string[]>> = {
    "kill-before-upload": (target, signal) => arm(target, "before-upload", signal),
    "kill-after-upload": (target, signal) => arm(target, "after-upload", signal),
    "kill-after-commit": (target, signal) => arm(target, "after-commit", signal),
    async freeze(target, signal) {
      const seconds = secondsOf("freeze");
      const name = ingesterOf(target);
      const { pid } = await tell(name, "freeze", { seconds }, signal);
      frozen = (await part(name)).opsHost === undefined ? { pid: Number(pid) } : null;
      return [`froze ${name} (SIGSTOP), pid ${pid}, for ${seconds} s`];
    },
    async "stop-broker"(_, signal) {
      const seconds = secondsOf("stop-broker");
      const { pid } = await tell(LAB_PART, "hold", { part: "kafka", seconds }, signal);
      return [`stopped the broker, pid ${pid ?? "of a container"}, for ${seconds} s`];
    },
    async "cut-s3"(_, signal) {
      const seconds = secondsOf("cut-s3");
      await tell(LAB_PART, "cut", { seconds }, signal);
      return [`cut the ingester's connections to S3 for ${seconds} s`];
    },
    poison: async ({ topic }) => [`sent ${POISON.length} bad messages: ${await send(topic, POISON)}`],
    async "second-worker"(target, signal) {
      const seconds = secondsOf("second-worker");
      const { worker, pid } = await tell(LAB_PART, "worker", { like: ingesterOf(target), seconds }, signal);
      return [`started ${worker}, pid ${pid}, for ${seconds} s`];
    },
    async burst({ topic }, signal) {
      const startedAt = now();
      const messages = ordersSource(randomInt(2 ** 31)).messages(BURST_FROM, signal);
      let values: string[] = [];
      let sent = 0;
      for await (const { value } of messages) {
        signal.throwIfAborted();
        values.push(String(value));
        if (values.length < BURST_AT_ONCE) continue;
        await send(topic, values);
        sent += values.length;
        values = [];
        if (sent >= BURST) break;
      }
      const seconds = ((now() - startedAt) / 1000).toFixed(1);
      return [`sent ${sent.toLocaleString("en")} messages in ${seconds} s`];
    },
    async "change-schema"({ topic }, signal) {
      const field = `extra_${new Date(now()).toISOString().slice(11, 19).replaceAll(":", "")}`;
      const made: string[] = [];
      for await (const { value } of ordersSource(randomInt(2 ** 31)).messages(BURST_FROM, signal)) {
        if (made.length === 3) break;
        made.push(JSON.stringify({ ...JSON.parse(String(value)), [field]: "new here" }));
      }
      return [`sent 3 messages with the field ${field}: ${await send(topic, made)}`];
    },
    async reset(_, signal) {
      const { did } = await tell(LAB_PART, "reset", {}, signal);
      return did as string[];
    },
  };
  async function arm(target: Target, step: string, signal: AbortSignal): Promise<string[]> {
    const name = ingesterOf(target);
    const { pid } = await tell(name, "arm", { step }, signal);
    return [`${name}, pid ${pid}, dies by SIGKILL at ${step} of its next commit`];
  }

  return {
    async refusals({ topic, ingester }, signal) {
      const noIngester = ingester === null ? "no ingester reads this topic now" : null;
      const lab = await askLab(data, signal);
      const stream = streams.find((one) => one.topic === topic);
      const isJson = stream?.format === "json";
      const noDemo = stream?.isDemo && isJson ? null : "the lab makes no such messages for this topic";
      return {
        ...{
          "kill-before-upload": noIngester,
          "kill-after-upload": noIngester,
          "kill-after-commit": noIngester,
        },
        ...{ freeze: noIngester, "stop-broker": lab.hold, "cut-s3": lab.cut },
        poison: isJson
          ? null
          : `each message of a stream of ${stream?.format ?? "no known format"} is a good one`,
        "second-worker": noIngester ?? lab.worker,
        ...{ burst: noDemo, "change-schema": noDemo, reset: lab.reset },
      };
    },
    cause: async (name, target, signal) => ({
      did: await cause[name](target, AbortSignal.any([signal, AbortSignal.timeout(ORDER_MS)])),
    }),
    async heal(signal) {
      if (frozen !== null) thaw(frozen.pid);
      frozen = null;
      await tell(LAB_PART, "heal", {}, signal).catch((error: unknown) => {
        if (!isLabError(error, "REQUEST_INVALID")) throw error;
      });
    },
    async close() {
      const open = await sink?.catch(() => null);
      await open?.close();
    },
  };
}

const secondsOf = (name: FaultName): number => FAULTS.find((fault) => fault.name === name)?.seconds ?? 0;

/** No record of a JSON stream: cut short, no object, no text at all, empty, nested too openly. */
const POISON = ['{"order_id": 1, "customer": {', "[1, 2, 3]", "not json", '{"order_id": }', '"only a text"'];

function thaw(pid: number): void {
  try {
    process.kill(pid, "SIGCONT");
  } catch (error) {
    // It was killed meanwhile, and another one is there.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Why `lab up` would refuse what only it can do. */
async function askLab(
  data: string,
  signal: AbortSignal,
): Promise<Record<"hold" | "cut" | "worker" | "reset", string | null>> {
  const none = { hold: CONTAINERS, cut: CONTAINERS, worker: CONTAINERS, reset: CONTAINERS };
  const file = await readRunFile(runFilePath(data, LAB_PART));
  if (file === null || file.opsPort === null) return none;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(5_000)]);
  try {
    const reply = await fetch(`http://127.0.0.1:${file.opsPort}/state`, { signal: limit });
    const { refusals } = (await reply.json()) as { refusals: typeof none | null };
    return refusals ?? none;
  } catch {
    signal.throwIfAborted();
    return none;
  }
}

async function post(
  file: RunFile,
  order: string,
  body: unknown,
  { token, signal }: { token: string; signal: AbortSignal },
): Promise<Record<string, unknown>> {
  const reply = await fetch(`http://${file.opsHost ?? "127.0.0.1"}:${file.opsPort}/do/${order}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-lab-token": token },
    body: JSON.stringify(body),
    signal,
  });
  const answer = (await reply.json()) as Record<string, unknown>;
  if (!reply.ok)
    throw new LabError("REQUEST_INVALID", `${file.name} refused: ${String(answer.message)}`, {
      ...(typeof answer.hint === "string" ? { hint: answer.hint } : {}),
    });
  return answer;
}
