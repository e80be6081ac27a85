/** Topics, offsets and single records. */

import kafkajs, { type Admin as Vendor } from "kafkajs";
import { isLabError, LabError } from "../core/errors.ts";
import { retry, sleep } from "../core/retry.ts";
import { EARLIEST, LATEST, openBrokerAccess } from "./broker-access.ts";
import { newClient } from "./connection.ts";
import { type Attempt, classify } from "./failures.ts";
import { readRange } from "./fetch/range.ts";
import { firstContact } from "./first-contact.ts";
import type { Admin, KafkaOptions } from "./ports.ts";

const SHORT_OUTAGE_MS = 2_000;
const SETTLE_MS = 10_000;
/** Scans that brought nothing while there is something, before giving up. */
const MOST_BLANKS = 50;

/** Makes the first contact; BROKER_UNREACHABLE if nothing answers in `connectTimeoutMs`. Calls wait out only a short outage. */
export async function openAdmin(kafka: KafkaOptions): Promise<Admin> {
  const access = openBrokerAccess(kafka);
  await firstContact(access, kafka);
  const { signal } = new AbortController();
  const patiently = <T>(call: () => Promise<T>) => retry(call, { signal, deadlineMs: SHORT_OUTAGE_MS });

  /** A client for the one call: the public admin goes wrong when it lives long (see broker-access.ts). */
  async function once<T>(
    on: Pick<Attempt, "topic" | "group" | "rights">,
    call: (admin: Vendor) => Promise<T>,
  ): Promise<T> {
    return patiently(async () => {
      const admin = newClient(kafka).admin();
      try {
        await admin.connect();
        return await call(admin);
      } catch (error) {
        throw classify(error, { ...kafka, ...on });
      } finally {
        await admin.disconnect().catch(() => {});
      }
    });
  }

  async function partitions(topic: string): Promise<number[] | null> {
    try {
      return await patiently(() => access.partitions(topic));
    } catch (error) {
      if (isLabError(error, "TOPIC_MISSING")) return null;
      throw error;
    }
  }

  /** Brokers learn of a topic a moment after the controller has it. */
  async function settled(topic: string, isThere: boolean): Promise<void> {
    const deadline = Date.now() + SETTLE_MS;
    while (((await partitions(topic)) !== null) !== isThere) {
      if (Date.now() > deadline)
        throw new LabError(
          "KAFKA_PROTOCOL",
          `topic ${topic} is still ${isThere ? "missing" : "there"} after ${SETTLE_MS} ms`,
        );
      await sleep(50, signal);
    }
  }

  return {
    topics: async () => (await patiently(access.topics)).filter((topic) => !topic.startsWith("__")).sort(),
    partitions,
    async createTopic(topic, { partitions: numPartitions, config = {} }) {
      const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
      // Asked first: whoever may use a topic need not have the right to make it.
      if ((await partitions(topic)) !== null) return false;
      const isNew = await once({ topic, rights: { topic: "CREATE" } }, (admin) =>
        admin.createTopics({ topics: [{ topic, numPartitions, configEntries }], waitForLeaders: false }),
      );
      await settled(topic, true);
      return isNew;
    },
    async deleteTopic(topic) {
      await once({ topic, rights: { topic: "DELETE" } }, (admin) => admin.deleteTopics({ topics: [topic] }));
      await settled(topic, false);
    },
    async topicConfig(topic) {
      if ((await partitions(topic)) === null)
        throw new LabError("TOPIC_MISSING", `topic ${topic} not found on ${kafka.brokers.join(", ")}`, {
          details: { topic },
        });
      const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic };
      const { resources } = await once({ topic, rights: { topic: "DESCRIBE_CONFIGS" } }, (admin) =>
        admin.describeConfigs({ resources: [resource], includeSynonyms: false }),
      );
      const entries = resources[0]?.configEntries ?? [];
      return new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
    },
    async watermarks(topic) {
      const [low, high] = await patiently(() =>
        Promise.all([access.offsets(topic, EARLIEST), access.offsets(topic, LATEST)]),
      );
      return new Map(
        [...high].map(([partition, end]) => [partition, { low: low.get(partition) ?? 0n, high: end }]),
      );
    },
    async offsetsAt(topic, timestampMs) {
      const [found, high] = await patiently(() =>
        Promise.all([access.offsets(topic, timestampMs), access.offsets(topic, LATEST)]),
      );
      return new Map(
        [...high].map(([partition, end]) => {
          const offset = found.get(partition) ?? -1n;
          return [partition, offset < 0n ? end : offset];
        }),
      );
    },
    async recordAt({ topic, partition, nextOffset }, abort) {
      let at = nextOffset;
      for (let blanks = 0; blanks < MOST_BLANKS; ) {
        abort.throwIfAborted();
        const scan = await patiently(() => access.scan({ topic, partition, nextOffset: at }));
        if (scan === null) {
          const low = (await patiently(() => access.offsets(topic, EARLIEST))).get(partition);
          if (low === undefined || low <= at) return null;
          at = low;
          continue;
        }
        const from = at;
        for await (const { records, nextOffset: next } of readRange(scan, from)) {
          if (records.length > 0) return records.at(0);
          at = next;
        }
        if (at > from) continue;
        if (at >= scan.lastStableOffset) return null;
        blanks += 1;
      }
      throw new LabError(
        "KAFKA_PROTOCOL",
        `nothing can be read of ${topic}-${partition} from offset ${at} on`,
      );
    },
    async groupMembers(group) {
      await patiently(() => access.findCoordinator(group, { group: "DESCRIBE" }));
      const { groups } = await once({ group, rights: { group: "DESCRIBE" } }, (admin) =>
        admin.describeGroups([group]),
      );
      return groups[0]?.members.length ?? 0;
    },
    close: access.close,
  };
}
