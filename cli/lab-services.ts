/** The services of `lab up` as parts for the supervisor: a broker and an S3 server, back on the same port after a crash. */

import { join } from "node:path";
import { isLabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { bringUpKafka } from "../services/kafka.ts";
import { isPortFree } from "../services/ports.ts";
import { removeRunFile, runFilePath, writeRunFile } from "../services/run-file.ts";
import { bringUpS3 } from "../services/s3.ts";
import type { Part, Running } from "../services/supervisor.ts";
import { KAFKA_PART } from "./find-kafka.ts";
import { S3_FOLDER } from "./running-s3.ts";

type Started<T> = { part: Part; service: () => T };

type ServiceOptions = {
  data: string;
  /** Null prefers the usual port and takes a free one where that is in use. */
  port: number | null;
  connectTimeoutMs: number;
  log: Log;
};

const USUAL = { kafka: 9092, s3: 9000 };

/** What ended a service that has an end: an address never ends. */
type Ended = Promise<{ code: number | null; signal: string | null }>;

/** The broker. `service()` is what runs now. */
export function kafkaPart(
  options: ServiceOptions & { choice: string },
): Started<Awaited<ReturnType<typeof bringUpKafka>>> {
  const { choice, data, log } = options;
  const isAddress = !["auto", "docker", "jvm"].includes(choice);
  let port = options.port;
  let current: Awaited<ReturnType<typeof bringUpKafka>> | null = null;
  return {
    service: () => current as NonNullable<typeof current>,
    part: {
      name: KAFKA_PART,
      kind: "kafka",
      finite: false,
      async start(signal) {
        const service = await onUsualPort(isAddress ? 0 : port, USUAL.kafka, (port) =>
          bringUpKafka({
            ...{ choice, log, signal, port, connectTimeoutMs: options.connectTimeoutMs },
            dataDir: join(data, "kafka"),
            logFile: join(data, "logs", "kafka.log"),
          }),
        );
        current = service;
        port = portOf(service.brokers[0]);
        return running(
          data,
          { name: KAFKA_PART, kind: "kafka", address: service.brokers.join(",") },
          service,
        );
      },
    },
  };
}

/** The S3 server. */
export function s3Part(
  options: ServiceOptions & { endpoint: string | undefined },
): Started<Awaited<ReturnType<typeof bringUpS3>>> {
  const { endpoint, data, log } = options;
  let port = options.port;
  let current: Awaited<ReturnType<typeof bringUpS3>> | null = null;
  return {
    service: () => current as NonNullable<typeof current>,
    part: {
      name: "s3",
      kind: "s3",
      finite: false,
      async start(signal) {
        const service = await onUsualPort(endpoint === undefined ? port : 0, USUAL.s3, (port) =>
          bringUpS3({
            ...{ endpoint, log, signal, port, connectTimeoutMs: options.connectTimeoutMs },
            dataDir: join(data, S3_FOLDER),
            logFile: join(data, "logs", "s3.log"),
          }),
        );
        current = service;
        port = portOf(service.endpoint);
        return running(data, { name: "s3", kind: "s3", address: service.endpoint }, service);
      },
    },
  };
}

async function running(
  data: string,
  what: { name: string; kind: string; address: string },
  service: { pid: number | null; exited: Promise<unknown>; close(): Promise<void> },
): Promise<Running> {
  const { pid } = service;
  const file = runFilePath(data, what.name);
  await writeRunFile(file, { ...what, pid, opsPort: null, startedAt: new Date().toISOString() });
  return {
    pid,
    address: what.address,
    exited: service.exited as Ended,
    async stop() {
      await service.close();
      await removeRunFile(file);
    },
  };
}

/** On `port`; where that is null on the usual one, or on a free one if that is in use, even if it is taken at the last moment. */
async function onUsualPort<T>(
  port: number | null,
  usual: number,
  bringUp: (port: number) => Promise<T>,
): Promise<T> {
  if (port !== null) return bringUp(port);
  try {
    return await bringUp((await isPortFree(usual)) ? usual : 0);
  } catch (error) {
    if (!isLabError(error, "PORT_TAKEN")) throw error;
    return bringUp(0);
  }
}

function portOf(address: string | undefined): number {
  return Number(address?.split(":").at(-1));
}
