/** What the dashboard asks of the running lab, answered from the run files and the broker. */

import type { ChaosControl } from "../dashboard/chaos.ts";
import type { LabControl, LabStream } from "../dashboard/control.ts";
import type { WorkControl } from "../dashboard/work.ts";
import type { Admin, Kafka } from "../kafka/ports.ts";
import { readParts } from "./lab-state.ts";
import { readWholeTopic } from "./topic-reader.ts";

/** The connection to the broker is made at the first question, and anew after it broke. */
export function createLabControl(options: {
  data: string;
  kafka: Kafka;
  streams: readonly LabStream[];
  work?: WorkControl;
  chaos?: ChaosControl & { close(): Promise<void> };
}): LabControl & { close(): Promise<void> } {
  const { data, kafka } = options;
  const streams = [...options.streams];
  const topics = [...new Set(streams.map(({ topic }) => topic))];
  let connecting: Promise<Admin> | null = null;

  async function withAdmin<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    connecting ??= kafka.admin();
    const current = connecting;
    try {
      return await work(await current);
    } catch (error) {
      if (connecting === current) connecting = null;
      current.then((admin) => admin.close()).catch(() => {});
      throw error;
    }
  }

  return {
    parts: (signal) => readParts(data, { signal }),
    topics: (signal) =>
      withAdmin(async (admin) => {
        const known: Awaited<ReturnType<LabControl["topics"]>> = [];
        for (const topic of topics) {
          signal.throwIfAborted();
          if ((await admin.partitions(topic)) === null) continue;
          const marks = [...(await admin.watermarks(topic))];
          known.push({
            topic,
            partitions: marks.map(([partition, { low, high }]) => ({
              partition,
              start: low.toString(),
              end: high.toString(),
            })),
          });
        }
        return known;
      }),
    streams: () => streams,
    ...(options.work ? { work: options.work } : {}),
    ...(options.chaos ? { chaos: options.chaos } : {}),
    readTopic: (topic, reader, signal) => readWholeTopic(kafka, topic, reader, signal),
    async close() {
      const admin = await connecting?.catch(() => null);
      await admin?.close();
      await options.chaos?.close();
    },
  };
}
