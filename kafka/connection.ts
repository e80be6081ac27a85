/** The client's own settings: addresses, patience, and where its log goes. */

import kafkajs, { type ISocketFactory, type KafkaConfig, type LogEntry, type Kafka as Vendor } from "kafkajs";
import type { Log } from "../core/log.ts";
import { registerCodecs } from "./codecs.ts";
import { quietIdleQueues } from "./idle-queues.ts";
import type { KafkaOptions } from "./ports.ts";
import { vendorSecurity } from "./security.ts";

/**
 * A client of its own for each source, sink and admin: one that is shared keeps one table of committed offsets for all members of a group.
 * Retries inside are few and quick, because whoever asks retries outages itself, knowing what it may repeat.
 */
export function newClient(options: KafkaOptions, socketFactory?: ISocketFactory): Vendor {
  registerCodecs();
  quietIdleQueues();
  const config: KafkaConfig = {
    brokers: [...options.brokers],
    clientId: options.clientId,
    ...vendorSecurity(options),
    ...(socketFactory === undefined ? {} : { socketFactory }),
    connectionTimeout: Math.min(3_000, options.connectTimeoutMs),
    requestTimeout: 15_000,
    retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 4, restartOnFailure: async () => false },
    logLevel: kafkajs.logLevel.INFO,
    logCreator: () => (entry) => {
      // `data` and `payload` are what its variables for debugging add: whole messages, those that hold a password among them.
      const { message, timestamp, logger, stack, data, payload, ...fields } = entry.log;
      forward(options.log, entry, message, fields);
    },
  };
  return new kafkajs.Kafka(config);
}

/** The client calls an error what it then retries with success, so each line goes one level lower. */
function forward(log: Log | undefined, entry: LogEntry, message: string, fields: object): void {
  if (log === undefined) return;
  const line = { client: entry.namespace, ...fields };
  if (entry.level === kafkajs.logLevel.ERROR) log.warn(line, message);
  else if (entry.level === kafkajs.logLevel.WARN) log.info(line, message);
  else log.debug(line, message);
}
