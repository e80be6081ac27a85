/** `lab produce`: messages from a generator, a file or standard input into a topic. */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { Counter, Registry } from "prom-client";
import { asLabError, LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { choice, integer, named, rate } from "../core/setting-kinds.ts";
import { SETTINGS, setting } from "../core/settings.ts";
import type { ProduceTotals } from "../producer/produce.ts";
import { defineCommand } from "./command.ts";
import { CONNECT_TIMEOUT } from "./connect-timeout.ts";
import { KAFKA, kafkaAccess } from "./kafka-settings.ts";
import { plural } from "./lines.ts";
import { progress } from "./progress.ts";
import { OPS, servePart } from "./serve-part.ts";

export const produce = defineCommand({
  name: "produce",
  summary: "Send messages to a topic, which is made if it is missing",
  examples: [
    "lab produce --topic my-topic --source dummy",
    "lab produce --topic orders --source orders --rate 100/s --count 10000",
    "lab produce --topic flights --source flights.ndjson --key origin",
    "lab produce --topic orders --source orders --rate 100/s --audit audit",
  ],
  settings: {
    topic: setting<string | undefined>({
      flag: "--topic",
      kind: named("topic"),
      default: undefined,
      description: "topic to write",
    }),
    source: setting<string>({
      flag: "--source",
      kind: named("dummy|orders|customers|FILE|-", ["dummy", "orders", "customers"]),
      default: "dummy",
      description:
        "the tutorial's four messages, orders, changes of customers, FILE.ndjson, FILE.csv, or - for standard input",
    }),
    rate: setting<number | undefined>({
      flag: "--rate",
      kind: rate,
      default: undefined,
      defaultText: "the source's own pace",
      description: "messages a second, as 50/s, or 24/m",
    }),
    count: setting<number | undefined>({
      flag: "--count",
      kind: integer(1),
      default: undefined,
      defaultText: "all",
      description: "stop after so many messages",
    }),
    seed: setting<number>({
      flag: "--seed",
      kind: integer(0, 2 ** 31),
      default: 1,
      description: "what a generator makes its messages from: the same seed, the same messages",
    }),
    key: setting<string | undefined>({
      flag: "--key",
      kind: named("field"),
      default: undefined,
      defaultText: "the source's own",
      description: "field of the JSON value that becomes the key",
    }),
    partitions: setting<number>({
      flag: "--partitions",
      kind: integer(1, 10_000),
      default: 3,
      description: "partitions of a topic that has to be made",
    }),
    acks: setting<"all" | "leader" | "none">({
      flag: "--acks",
      kind: choice("all", "leader", "none"),
      default: "all",
      description: "what counts as sent; only with all is each message there exactly once",
    }),
    audit: setting<string | undefined>({
      flag: "--audit",
      env: "LAB_PRODUCE_AUDIT",
      kind: named("topic"),
      default: undefined,
      defaultText: "none",
      description: "stamp each message, and tell this topic how many of each five minutes were sent",
    }),
    auditOrigin: setting<string | undefined>({
      flag: "--audit-origin",
      env: "LAB_PRODUCE_AUDIT_ORIGIN",
      kind: named("name"),
      default: undefined,
      defaultText: "host/source",
      description: "who sends, the same in every run",
    }),
    eventTime: setting<string | undefined>({
      flag: "--event-time",
      env: "LAB_PRODUCE_EVENT_TIME",
      kind: named("field"),
      default: undefined,
      defaultText: "the time of sending",
      description: "audit: field of the JSON value that tells when it happened",
    }),
    ...KAFKA,
    data: SETTINGS.data,
    connectTimeout: CONNECT_TIMEOUT,
    ...OPS,
  },
  stops: "gracefully",
  seeAlso: ["ingest", "up"],
  async run(context, values) {
    const { signal, env, screen, common } = context;
    const log = await context.openLog();
    const { topic } = values;
    if (topic === undefined) {
      throw new LabError("USAGE", "no topic to produce to", {
        hint: "lab produce --topic orders --source orders",
      });
    }
    if (values.audit === undefined && (values.auditOrigin ?? values.eventTime) !== undefined)
      throw new LabError("USAGE", "an origin or an event time is told, but no topic to audit by", {
        hint: "add --audit audit",
      });
    if (values.audit !== undefined && values.acks !== "all")
      throw new LabError("USAGE", `messages that are sent with acks ${values.acks} cannot be audited`, {
        hint: "leave --acks out: what counts is what all replicas have",
        details: { acks: values.acks },
      });
    const access = await kafkaAccess(values, context);
    // Loaded here: the client is heavy, and what is above can fail without it.
    const { connectKafka } = await import("../kafka/client.ts");
    const { produce: run } = await import("../producer/produce.ts");
    const { findSource } = await import("../producer/sources.ts");

    const source = findSource(values.source, {
      seed: values.seed,
      now: Date.now,
      stdin: context.stdin as AsyncIterable<Buffer>,
    });
    const startedMs = Date.now();
    let totals: ProduceTotals = { sent: 0, acked: 0, bytes: 0, partitions: new Map() };
    let lastError: { code: string; message: string; at: string } | null = null;
    let isDone = false;
    const perSecond = () => Math.round(totals.acked / Math.max(0.001, (Date.now() - startedMs) / 1000));
    const registry = new Registry();
    const acked = new Counter({
      name: "lab_produce_acked_total",
      help: "Messages that the broker acknowledged.",
      labelNames: ["topic", "partition"],
      registers: [registry],
      collect() {
        this.reset();
        for (const [partition, count] of totals.partitions)
          this.inc({ topic, partition: String(partition) }, count);
      },
    });
    registry.registerMetric(acked);
    new Counter({
      name: "lab_produce_bytes_total",
      help: "Value bytes of messages that the broker acknowledged.",
      labelNames: ["topic"],
      registers: [registry],
      collect() {
        this.reset();
        this.inc({ topic }, totals.bytes);
      },
    });
    const outages = new Counter({
      name: "lab_produce_outages_total",
      help: "Tries that failed as the broker is away.",
      labelNames: ["topic", "code"],
      registers: [registry],
    });
    const state = () => ({
      part: "produce",
      pid: process.pid,
      topic,
      source: source.name,
      acked: {
        total: String(totals.acked),
        partitions: Object.fromEntries(
          [...totals.partitions].map(([partition, count]) => [partition, String(count)]),
        ),
      },
      bytes: String(totals.bytes),
      ratePerSecond: perSecond(),
      lastError,
      done: isDone,
    });
    const part = await servePart(
      "produce",
      { isHealthy: () => true, isReady: () => true, state, registry },
      values,
      env,
    );
    const bar = progress(screen, `produce ${topic}`, values.count ?? source.total ?? null);
    screen.note(`producing ${source.name} to ${topic} on ${access.brokers.join(",")}`);
    try {
      totals = await run({
        kafka: connectKafka({
          ...access,
          clientId: `lab-produce-${process.pid}`,
          connectTimeoutMs: values.connectTimeout,
        }),
        topic,
        source,
        partitions: values.partitions,
        acks: values.acks,
        origin: `${source.name}-${randomUUID().slice(0, 8)}`,
        now: Date.now,
        signal,
        ...(values.rate === undefined ? {} : { rate: values.rate }),
        ...(values.count === undefined ? {} : { count: values.count }),
        ...(values.key === undefined ? {} : { key: values.key }),
        ...(values.audit === undefined
          ? {}
          : {
              audit: {
                topic: values.audit,
                origin: values.auditOrigin ?? `${hostname()}/${source.name}`,
                host: hostname(),
                eventTime: values.eventTime,
              },
            }),
        onProgress(now) {
          totals = now;
          bar.update(now.acked);
        },
        onOutage(error) {
          const { code, message } = asLabError(error);
          lastError = { code, message, at: new Date().toISOString() };
          outages.inc({ topic, code });
          log.warn({ event: "outage", topic, code }, `outage, trying again: ${message}`);
        },
      });
      isDone = true;
    } finally {
      bar.end();
      await part.close();
    }
    const seconds = (Date.now() - startedMs) / 1000;
    if (common.json) screen.out(`${toJson({ ...state(), seconds }, 2)}\n`);
    else {
      const by = [...totals.partitions]
        .sort(([a], [b]) => a - b)
        .map(([partition, count]) => `${topic}-${partition} ${count.toLocaleString("en")}`);
      screen.note(
        `sent ${plural(totals.acked, "message")}, ${totals.bytes.toLocaleString("en")} bytes in ${seconds.toFixed(1)} s (${perSecond().toLocaleString("en")}/s): ${by.join(", ") || "nothing"}`,
      );
    }
    return 0;
  },
});
