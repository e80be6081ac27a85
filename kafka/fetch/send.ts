/**
 * Our own requests over the client's connections: TLS, SASL, renewed tokens, timeouts and throttling are those of all its requests.
 * kafkajs 2.2.4 hands the bytes of an answer to whoever decodes it, so that nothing would be won by connections of our own.
 */

import { createErrorFromCode } from "kafkajs/src/protocol/error.js";
import { LabError } from "../../core/errors.ts";
import type { Broker, VersionRanges } from "../cluster.ts";
import { BY_ID, decodeFetch, encodeFetch, FETCH, type FetchAnswer, type FetchRequest } from "./fetch-api.ts";
import { decodeMetadata, encodeMetadata, METADATA, type TopicLayout } from "./metadata-api.ts";

type Api = { apiKey: number; apiName: string; oldest: number; newest: number };

/** What each broker said that it speaks. It may be another than the one that the client asked, in the middle of an upgrade. */
const spoken = new WeakMap<Broker, Promise<VersionRanges>>();

/** Rejects with the client's errors, and with its error of the protocol where the answer as a whole is one. */
export async function sendFetch(broker: Broker, request: FetchRequest): Promise<FetchAnswer> {
  const newest = request.topics.every(({ id }) => id !== null) ? FETCH.newest : BY_ID - 1;
  const version = pick(await versionsOf(broker), { ...FETCH, newest });
  const answer = await send(broker, FETCH, version, encodeFetch(version, request), (bytes) =>
    decodeFetch(version, bytes, request.topics),
  );
  if (answer.errorCode !== 0) throw protocolError(answer.errorCode);
  return answer;
}

/** Where the topics are; makes none. Rejects with the client's errors. */
export async function sendMetadata(broker: Broker, topics: readonly string[]): Promise<TopicLayout[]> {
  const newest = pick(await versionsOf(broker), METADATA);
  const version = newest === METADATA.newest ? METADATA.newest : METADATA.oldest;
  const answer = await send(broker, METADATA, version, encodeMetadata(version, topics), (bytes) =>
    decodeMetadata(version, bytes),
  );
  return answer.topics;
}

/** The error that the client makes of a code, so that it is put into our codes as all of its errors are. */
export function protocolError(code: number): Error {
  return createErrorFromCode(code);
}

/** Asked for once a broker object. */
async function versionsOf(broker: Broker): Promise<VersionRanges> {
  const known = spoken.get(broker) ?? broker.apiVersions();
  spoken.set(broker, known);
  try {
    return await known;
  } catch (error) {
    spoken.delete(broker);
    throw error;
  }
}

function pick(versions: VersionRanges, { apiKey, apiName, oldest, newest }: Api): number {
  const range = versions[apiKey];
  const best = Math.min(newest, range?.maxVersion ?? -1);
  if (range !== undefined && best >= Math.max(oldest, range.minVersion)) return best;
  const theirs = range === undefined ? "none" : `${range.minVersion} to ${range.maxVersion}`;
  throw new LabError(
    "KAFKA_PROTOCOL",
    `the broker speaks ${apiName} ${theirs}, and we ${oldest} to ${newest}`,
    { hint: "use a broker of Kafka 0.11 or later" },
  );
}

async function send<T extends { throttleMs: number }>(
  broker: Broker,
  { apiKey, apiName }: Api,
  apiVersion: number,
  body: Buffer,
  decode: (answer: Buffer) => T,
): Promise<T> {
  return broker.connectionPool.send<T>({
    // What the client takes for one of its encoders.
    request: { apiKey, apiName, apiVersion, encode: async () => ({ buf: body, buffer: body }) },
    response: {
      async decode(bytes: Buffer) {
        const answer = decode(bytes);
        return { answer, clientSideThrottleTime: answer.throttleMs };
      },
      parse: async ({ answer }) => answer,
    },
  });
}
