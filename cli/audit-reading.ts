/** What audits are read through: the store, the broker, and the origins that are expected. */

import type { AuditReading } from "../audit/day-answer.ts";
import type { Kafka } from "../kafka/ports.ts";
import { withQuery } from "./ask.ts";
import { readExpected } from "./audit-expected.ts";
import { tablesOfTopic } from "./audit-tables.ts";
import type { Context } from "./command.ts";
import { type KafkaAccess, kafkaAccess } from "./kafka-settings.ts";

export type ReadingValues = Parameters<typeof kafkaAccess>[0] & {
  store: string;
  expect: string | undefined;
  auditTopic: string;
  auditTable: string;
  connectTimeout: number;
};

export async function connectForAudit(
  context: Pick<Context, "env" | "lab">,
  values: Pick<ReadingValues, "connectTimeout"> & Parameters<typeof kafkaAccess>[0],
): Promise<Kafka> {
  const { connectKafka } = await import("../kafka/client.ts");
  const access: KafkaAccess = await kafkaAccess(values, context);
  return connectKafka({ ...access, clientId: "lab-audit", connectTimeoutMs: values.connectTimeout });
}

/** Opens it for the time of `work`. */
export async function withAuditReading<T>(
  context: Pick<Context, "env" | "lab">,
  values: ReadingValues,
  work: (reading: AuditReading, kafka: Kafka) => Promise<T>,
): Promise<T> {
  const expected = await readExpected(values.expect);
  const kafka = await connectForAudit(context, values);
  const admin = await kafka.admin();
  try {
    return await withQuery({ store: values.store }, (query) =>
      work(
        {
          ...{ query, admin, expected },
          audit: { table: values.auditTable, topic: values.auditTopic },
          tablesOf: (topic, signal) => tablesOfTopic(query, topic, context, signal),
        },
        kafka,
      ),
    );
  } finally {
    await admin.close();
  }
}
