/** Audits in memory: producers on a Kafka of their own, a bridge that may do harm, the ingester, and real tables. */

import { join } from "node:path";
import type { TestContext } from "node:test";
import type { AuditLook } from "../../audit/alerts.ts";
import { dayIn } from "../../audit/day.ts";
import { type AuditReading, answerDay, type DayAnswer } from "../../audit/day-answer.ts";
import type { Explaining } from "../../audit/explain.ts";
import { lookAt } from "../../audit/look.ts";
import { openTable } from "../../delta/open.ts";
import { openStore } from "../../delta/store/open.ts";
import type { Table } from "../../delta/table.ts";
import type { StreamOptions } from "../../ingest/options.ts";
import { type FakeKafka, fakeKafka } from "../../kafka/fake.ts";
import type { OutgoingRecord, RawRecord } from "../../kafka/ports.ts";
import { produce } from "../../producer/produce.ts";
import { openQuery } from "../../query/query.ts";
import { streamFixture } from "./stream-fixture.ts";

const { signal } = new AbortController();

/** What the bridge makes of a record: nothing, itself, or others. */
export type Bridge = (record: RawRecord, at: { topic: string; partition: number }) => readonly RawRecord[];

export type AuditLab = {
  /** Behind the bridge: what the ingester reads. */
  kafka: FakeKafka;
  folder: string;
  /** One run of an origin, which ends in order: an event of `values` each, with its time in field `at`. */
  run(values: readonly object[], origin?: string): Promise<void>;
  /** Takes over what was produced since the last time; default: all as it is. */
  carry(bridge?: Bridge): Promise<void>;
  ingest(topic: string, options?: Partial<StreamOptions>): Promise<void>;
  /** Carries and ingests both topics. */
  settle(bridge?: Bridge, options?: Partial<StreamOptions>): Promise<void>;
  table(name: string): Promise<Table>;
  /** About `tables`, where they are there; default: the one that is named as the topic. */
  ask(
    day: string,
    more?: { explaining?: Partial<Explaining>; tables?: readonly string[] },
  ): Promise<DayAnswer>;
  look(nowMs: number): Promise<AuditLook>;
};

export const PARTITIONS = 2;

export async function auditLab(t: TestContext): Promise<AuditLab> {
  const lab = await streamFixture(t);
  const upstream = fakeKafka();
  const root = join(lab.folder, "tables");
  const carried = new Map<string, bigint>();
  lab.kafka.createTopic("t", PARTITIONS);
  lab.kafka.createTopic("audit", PARTITIONS, { "message.timestamp.type": "LogAppendTime" });

  async function carry(bridge: Bridge = (record) => [record]): Promise<void> {
    const admin = await upstream.admin();
    for (const topic of ["t", "audit"]) {
      if ((await admin.partitions(topic)) === null) continue;
      for (const [partition, { high }] of await admin.watermarks(topic)) {
        const place = `${topic}/${partition}`;
        for (let at = carried.get(place) ?? 0n; at < high; at++) {
          const record = await admin.recordAt({ topic, partition, nextOffset: at }, signal);
          const becomes = topic === "t" ? bridge(record!, { topic, partition }) : [record!];
          for (const one of becomes) lab.kafka.append(topic, partition, [outgoing(one)]);
        }
        carried.set(place, high);
      }
    }
  }

  async function ingest(topic: string, options: Partial<StreamOptions> = {}): Promise<void> {
    const tableUri = `file://${join(root, topic)}`;
    const partitionBy = topic === "audit" ? ["day"] : [];
    const worker = lab.start({ ...{ topic, tableUri, group: topic, once: true, partitionBy }, ...options });
    await worker.ended;
  }

  async function withReading<T>(
    tables: readonly string[],
    work: (reading: AuditReading) => Promise<T>,
  ): Promise<T> {
    const query = openQuery({ store: root });
    const admin = await lab.kafka.admin();
    try {
      return await work({
        ...{ query, admin, audit: { table: "audit", topic: "audit" }, expected: new Map() },
        tablesOf: async () => {
          const names = await query.catalog.names(signal);
          return Promise.all(
            tables.filter((name) => names.includes(name)).map((name) => query.catalog.open(name, signal)),
          );
        },
      });
    } finally {
      await query.close();
      await admin.close();
    }
  }

  return {
    ...{ kafka: lab.kafka, folder: lab.folder, carry, ingest },
    async run(values, origin = "shop") {
      await produce({
        ...{ kafka: upstream, topic: "t", partitions: PARTITIONS, acks: "all", origin: "run", key: "n" },
        source: {
          name: "values",
          isEndless: false,
          *messages() {
            for (const value of values) yield { key: null, value: JSON.stringify(value) };
          },
        },
        audit: { topic: "audit", origin, host: "here", eventTime: "at" },
        ...{ now: Date.now, signal },
      });
    },
    async settle(bridge, options) {
      await carry(bridge);
      await ingest("t", options);
      await ingest("audit");
    },
    async table(name) {
      const store = await openStore(join(root, name), { signal });
      t.after(() => store.close());
      return openTable(store, signal);
    },
    ask: (day, { explaining, tables } = {}) =>
      withReading(tables ?? ["t"], (reading) => {
        const how = { kafka: lab.kafka, allRows: false, ...explaining };
        return answerDay({ ...reading, explaining: how }, undefined, dayIn("UTC", day), Date.now(), signal);
      }),
    look: (nowMs) => withReading(["t"], (reading) => lookAt(reading, "UTC", nowMs, signal)),
  };
}

function outgoing({ key, value, headers, timestampMs }: RawRecord): OutgoingRecord {
  const named = headers.map(([name, bytes]) => [name, bytes!] as const);
  return { key, value, headers: Object.fromEntries(named), timestampMs };
}
