/** Kafka over the wire: the ports, filled by kafkajs. */

import { openAdmin } from "./admin.ts";
import { createAnswerMemory } from "./fetch/answer-memory.ts";
import { ANSWER_BYTES } from "./fetch/fetcher.ts";
import type { Kafka, KafkaOptions } from "./ports.ts";
import { checkTls } from "./security.ts";
import { openSink } from "./sink.ts";
import { createSource } from "./source.ts";
import { openTransactionalSink } from "./transactional-sink.ts";

/** Connects nothing yet: each source, sink and admin makes its own contact and is closed by who opened it. CONFIG_INVALID. */
export function connectKafka(options: KafkaOptions): Kafka {
  if (options.tls !== undefined) checkTls(options.tls);
  const memory = createAnswerMemory(ANSWER_BYTES);
  return {
    source: (source) => createSource(options, source, memory),
    sink: (sink) => openSink(options, sink),
    transactionalSink: (sink) => openTransactionalSink(options, sink),
    admin: () => openAdmin(options),
  };
}
