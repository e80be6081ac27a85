/** The settings of the lab's broker: one node that is broker and controller, quick to join, loopback only. */

/** A way in beside the one in the clear. What it asks for stands in `config`, under `listener.name.<name in lower case>`. */
export type BrokerListener = { name: string; protocol: "SASL_PLAINTEXT" | "SASL_SSL" | "SSL"; port: number };

export type BrokerPropertiesOptions = {
  port: number;
  controllerPort: number;
  logDir: string;
  listeners?: readonly BrokerListener[];
  /** Over the lab's own, by Kafka's names. */
  config?: Readonly<Record<string, string>>;
};

const MIB = 1024 * 1024;

/** Settings that every way of running the broker shares. */
export const COMMON_PROPERTIES: Readonly<Record<string, string>> = {
  // Internal topics of a single node; few partitions, as each costs a folder and time at the start.
  "offsets.topic.replication.factor": "1",
  "offsets.topic.num.partitions": "8",
  "transaction.state.log.replication.factor": "1",
  "transaction.state.log.min.isr": "1",
  "transaction.state.log.num.partitions": "8",
  "share.coordinator.state.topic.replication.factor": "1",
  "share.coordinator.state.topic.min.isr": "1",
  // A group of one need not wait for company, and a dead worker is noticed soon.
  "group.initial.rebalance.delay.ms": "0",
  "group.min.session.timeout.ms": "1000",
  // After a kill the controller takes the new broker only when the old one's session is over.
  "broker.session.timeout.ms": "5000",
  "broker.heartbeat.interval.ms": "500",
  // A misspelt topic is an error, not a new topic.
  "auto.create.topics.enable": "false",
  "message.max.bytes": String(16 * MIB),
  "replica.fetch.max.bytes": String(16 * MIB),
  // Fits the small heap.
  "log.cleaner.dedupe.buffer.size": String(16 * MIB),
  "log.index.size.max.bytes": String(MIB),
};

/** The settings of a broker on 127.0.0.1. */
export function brokerProperties(options: BrokerPropertiesOptions): Record<string, string> {
  const { port, controllerPort, logDir, listeners = [] } = options;
  const others = listeners.map(({ name, port }) => `,${name}://127.0.0.1:${port}`).join("");
  const protocols = listeners.map(({ name, protocol }) => `,${name}:${protocol}`).join("");
  return {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}${others}`,
    "advertised.listeners": `PLAINTEXT://127.0.0.1:${port}${others}`,
    "listener.security.protocol.map": `PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT${protocols}`,
    "log.dirs": logDir,
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    ...COMMON_PROPERTIES,
    ...options.config,
  };
}

/** The text of a Java properties file. */
export function propertiesText(properties: Readonly<Record<string, string>>): string {
  return Object.entries(properties)
    .map(([key, value]) => `${key}=${value.replaceAll("\\", "\\\\")}\n`)
    .join("");
}
