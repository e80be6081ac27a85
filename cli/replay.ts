/** `lab replay`: the rows of a table back to Kafka, as the records that they came from. */

import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { bytes, choice, integer, named, onOff, rate, toggle } from "../core/setting-kinds.ts";
import { SETTINGS, setting } from "../core/settings.ts";
import { momentOf } from "../query/moment.ts";
import type { From } from "../replay/range.ts";
import { withQuery } from "./ask.ts";
import { defineCommand } from "./command.ts";
import { CONNECT_TIMEOUT } from "./connect-timeout.ts";
import { KAFKA, kafkaAccess } from "./kafka-settings.ts";
import { type Progress, progress } from "./progress.ts";
import { planText, replayText } from "./replay-text.ts";
import { WORK } from "./work-settings.ts";

const offsets = {
  placeholder: "P:OFFSET,...",
  show: (first: ReadonlyMap<number, bigint>) => [...first].map(([p, offset]) => `${p}:${offset}`).join(","),
  parse(text: string): ReadonlyMap<number, bigint> {
    if (!/^\d+:\d+(,\d+:\d+)*$/.test(text)) throw new Error("is not of the form PARTITION:OFFSET,...");
    const pairs = text.split(",").map((part) => part.split(":") as [string, string]);
    const first = new Map(pairs.map(([partition, offset]) => [Number(partition), BigInt(offset)]));
    if (first.size < pairs.length) throw new Error("names a partition twice");
    return first;
  },
};

export const replay = defineCommand({
  name: "replay",
  summary: "Send a table's rows back to Kafka, in the order and as the records they came as",
  args: [{ name: "TABLE", description: "a table's name in the store, or its path or URI", required: true }],
  examples: [
    "lab replay orders --to-topic orders-again",
    "lab replay orders --to-topic orders-may --from-time 2026-05-01 --dry-run",
    "lab replay orders --to-topic orders-part --from-version 10 --to-version 20",
    "lab replay orders --to-topic orders-slow --from-offsets 0:1200,1:900 --rate 500/s",
  ],
  settings: {
    toTopic: setting<string | undefined>({
      flag: "--to-topic",
      env: "LAB_REPLAY_TO_TOPIC",
      kind: named("topic"),
      default: undefined,
      description: "topic to send to; made with as many partitions as the records come from if it is missing",
    }),
    topic: setting<string | undefined>({
      flag: "--topic",
      env: "LAB_REPLAY_TOPIC",
      kind: named("topic"),
      default: undefined,
      defaultText: "the only one",
      description: "of which topic the rows are sent, where the table has several",
    }),
    fromVersion: setting<number | undefined>({
      flag: "--from-version",
      kind: integer(0),
      default: undefined,
      description: "only records that this version of the table or a later one brought",
    }),
    toVersion: setting<number | undefined>({
      flag: "--to-version",
      kind: integer(0),
      default: undefined,
      defaultText: "the newest one",
      description: "the rows that the table has in this version",
    }),
    fromTime: setting<string | undefined>({
      flag: "--from-time",
      kind: named("time"),
      default: undefined,
      description: "from the first record of each partition on that is not older: 2026-11-29T20:15:03Z",
    }),
    fromOffsets: setting<ReadonlyMap<number, bigint> | undefined>({
      flag: "--from-offsets",
      kind: offsets,
      default: undefined,
      description: "from these offsets on, themselves included; nothing of partitions that are not named",
    }),
    rate: setting<number | undefined>({
      flag: "--rate",
      env: "LAB_REPLAY_RATE",
      kind: rate,
      default: undefined,
      defaultText: "as fast as it goes",
      description: "records a second, as 500/s, or 24/m",
    }),
    value: setting<"auto" | "json" | "column">({
      flag: "--value",
      env: "LAB_REPLAY_VALUE",
      kind: choice("auto", "json", "column"),
      default: "auto",
      description:
        "values that the table did not keep (keepRaw): an object of JSON with a field a column, or column value as it is; auto tells by the columns",
    }),
    transactionSize: setting<number>({
      flag: "--transaction-size",
      env: "LAB_REPLAY_TRANSACTION_SIZE",
      kind: bytes,
      default: 32 * 1024 * 1024,
      description: "bytes of records that become visible together, about; at most what ten seconds bring",
    }),
    append: setting<boolean>({
      flag: "--append",
      kind: toggle,
      default: false,
      description: "send though the topic holds records already",
    }),
    repartition: setting<number | undefined>({
      flag: "--repartition",
      env: "LAB_REPLAY_REPARTITION",
      kind: integer(1),
      default: undefined,
      defaultText: "off: each record keeps its partition",
      description:
        "spread records anew over so many partitions, by key as Java's client does: only those of one key keep their order",
    }),
    check: setting<boolean>({
      flag: "--check",
      env: "LAB_REPLAY_CHECK",
      kind: onOff,
      default: true,
      description: "read the topic again at the end, and compare what is there with what was sent",
    }),
    dryRun: setting<boolean>({
      flag: "--dry-run",
      kind: toggle,
      default: false,
      description: "only tell what would be sent, from where, and whether the topic is fit for it",
    }),
    ...WORK,
    ...KAFKA,
    data: SETTINGS.data,
    connectTimeout: CONNECT_TIMEOUT,
  },
  stops: "tidily",
  seeAlso: ["ingest", "history", "dlq"],
  async run(context, values, [asked = ""]) {
    const { screen, common, signal } = context;
    const { toTopic: target } = values;
    if (target === undefined)
      throw new LabError("USAGE", "no topic to send to", {
        hint: "lab replay orders --to-topic orders-again",
      });
    const from = fromOf(values);
    const access = await kafkaAccess(values, context);
    // Loaded here: what is above can fail without the client and the engine.
    const { connectKafka } = await import("../kafka/client.ts");
    const { replay: run } = await import("../replay/run.ts");
    const { planReplay } = await import("../replay/plan.ts");
    const log = await context.openLog();
    const startedMs = Date.now();
    let bar: Progress | undefined;
    let comparing: Progress | undefined;
    let sentMs: number | undefined;
    const compareBar = (total: number) => {
      bar?.end();
      return progress(screen, `compare ${target}`, total);
    };
    const ended = await withQuery(values, async ({ catalog, context: reading }) => {
      const { table } = await catalog.openAny(asked, signal);
      const course = {
        ...{ table, target, topic: values.topic, from, to: values.toVersion, value: values.value },
        kafka: connectKafka({
          ...access,
          clientId: `lab-replay-${process.pid}`,
          connectTimeoutMs: values.connectTimeout,
        }),
        isAppended: values.append,
        repartition: values.repartition,
        work: {
          scratchDir: values.scratch,
          memoryLimitBytes: values.memory,
          threads: values.threads,
          cache: reading.cache,
        },
        signal,
        now: Date.now,
      };
      if (values.dryRun) return { plan: await planReplay(course) };
      screen.note(`replaying ${asked} to ${target} on ${access.brokers.join(",")}`);
      const result = await run({
        ...course,
        isCompared: values.check,
        rate: values.rate,
        transactionBytes: values.transactionSize,
        onProgress({ sent, total }) {
          bar ??= progress(screen, `replay ${asked}`, total);
          bar.update(sent);
        },
        onCompared({ read, total }) {
          sentMs ??= Date.now();
          comparing ??= compareBar(total);
          comparing.update(read);
        },
        onOutage: (error) => log.warn({ event: "outage" }, `outage, trying again: ${error.message}`),
      });
      return { result };
    }).finally(() => (comparing ?? bar)?.end());
    const seconds = ((sentMs ?? Date.now()) - startedMs) / 1000;
    if (ended.plan !== undefined) {
      const { plan } = ended;
      screen.out(
        `${common.json ? toJson({ table: asked, ...plan, dryRun: true }, 2) : planText(asked, plan, screen)}\n`,
      );
    } else {
      const { result } = ended;
      screen.out(
        `${common.json ? toJson({ table: asked, ...result, seconds }, 2) : replayText(asked, result, seconds)}\n`,
      );
    }
    return 0;
  },
});

function fromOf(values: {
  fromVersion: number | undefined;
  toVersion: number | undefined;
  fromTime: string | undefined;
  fromOffsets: ReadonlyMap<number, bigint> | undefined;
}): From {
  const { fromVersion, toVersion, fromTime, fromOffsets } = values;
  const given = [fromVersion, fromTime, fromOffsets].filter((one) => one !== undefined);
  if (given.length > 1)
    throw new LabError(
      "USAGE",
      "a replay begins at one place: --from-version, --from-time or --from-offsets",
      {
        hint: "give one of them, or none to send all rows",
      },
    );
  if (fromVersion !== undefined && toVersion !== undefined && fromVersion > toVersion)
    throw new LabError("USAGE", `version ${fromVersion} is after version ${toVersion}`, {
      hint: "give --from-version before or equal to --to-version",
    });
  if (fromVersion !== undefined) return { kind: "version", version: fromVersion };
  if (fromTime !== undefined) return { kind: "time", timestampMs: momentOf(fromTime) };
  if (fromOffsets !== undefined) return { kind: "offsets", first: fromOffsets };
  return { kind: "start" };
}
