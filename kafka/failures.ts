/** What the client throws, in our codes. */

import { LabError } from "../core/errors.ts";

/** What was tried: named in the message where the client says nothing useful. */
export type Attempt = { brokers: readonly string[]; topic?: string };

/** Any thrown value of the client as a LabError, by the innermost cause that means something. Never throws. */
export function classify(error: unknown, attempt: Attempt): LabError {
  const chain = causes(error);
  for (const link of chain) {
    if (link instanceof LabError) return link;
    const found = byProtocol(link, error, attempt);
    if (found !== null) return found;
  }
  const innermost = chain.at(-1);
  if (chain.some(isOutage)) return unreachable(textOf(innermost), error, attempt);
  if (chain.some((link) => field(link, "name").startsWith("KafkaJS")))
    return new LabError("KAFKA_PROTOCOL", `the Kafka client failed: ${textOf(innermost)}`, { cause: error });
  return new LabError("INTERNAL", `the Kafka client failed: ${textOf(innermost)}`, { cause: error });
}

const DENIED = new Set([
  "TOPIC_AUTHORIZATION_FAILED",
  "GROUP_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED",
  "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
  "SASL_AUTHENTICATION_FAILED",
  "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
  "UNSUPPORTED_SASL_MECHANISM",
  "ILLEGAL_SASL_STATE",
]);

function byProtocol(link: unknown, cause: unknown, attempt: Attempt): LabError | null {
  const type = field(link, "type");
  const at = attempt.brokers.join(", ");
  const named = attempt.topic ?? (field(link, "topic") || "?");
  if (type === "UNKNOWN_TOPIC_OR_PARTITION")
    return new LabError("TOPIC_MISSING", `topic ${named} not found on ${at}`, {
      hint: `make it with: lab produce --topic ${named} --source orders`,
      details: { topic: named },
      cause,
    });
  if (type === "INVALID_TOPIC_EXCEPTION")
    return new LabError("USAGE", `${named} is not a topic name`, {
      hint: "at most 249 of: letters, digits, dot, underscore, hyphen",
      cause,
    });
  if (type === "MESSAGE_TOO_LARGE" || type === "RECORD_LIST_TOO_LARGE")
    return new LabError("MESSAGE_TOO_LARGE", `the broker refuses a message of topic ${named} as too large`, {
      hint: RAISE_LIMIT,
      cause,
    });
  if (DENIED.has(type) || field(link, "name") === "KafkaJSSASLAuthenticationError")
    return new LabError("KAFKA_DENIED", `${at} refuses: ${textOf(link)}`, {
      hint: "check user, password and ACLs of the broker",
      cause,
    });
  if (type === "UNSUPPORTED_COMPRESSION_TYPE" || field(link, "name") === "KafkaJSNotImplemented")
    return new LabError("CODEC_UNSUPPORTED", textOf(link), { cause });
  return null;
}

export const RAISE_LIMIT =
  "raise max.message.bytes of the topic (or message.max.bytes of the broker), or make the message smaller";

/** The error of an outage. */
export function unreachable(reason: string, cause: unknown, attempt: Attempt): LabError {
  return new LabError(
    "BROKER_UNREACHABLE",
    `no Kafka broker answers at ${attempt.brokers.join(", ")}: ${reason}`,
    {
      hint: "start one with: lab up --only kafka, or give its address: --kafka HOST:PORT",
      cause,
    },
  );
}

const OUTAGES = new Set([
  "KafkaJSConnectionError",
  "KafkaJSConnectionClosedError",
  "KafkaJSRequestTimeoutError",
  "KafkaJSBrokerNotFound",
  "KafkaJSMetadataNotLoaded",
  "KafkaJSTopicMetadataNotLoaded",
  "KafkaJSStaleTopicMetadataAssignment",
  "KafkaJSGroupCoordinatorNotFound",
  "KafkaJSTimeout",
  "KafkaJSLockTimeout",
  "KafkaJSNoBrokerAvailableError",
]);
const SYSTEM = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);
/** Of the group, not of the wire: another attempt joins again. */
const REJOIN = new Set(["REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"]);

/** True where the same attempt may succeed later. What wraps others (`RetriesExceeded`, the bare error) is judged by its cause. */
function isOutage(link: unknown): boolean {
  if (OUTAGES.has(field(link, "name")) || SYSTEM.has(field(link, "code")) || REJOIN.has(field(link, "type")))
    return true;
  // A bare Error of a connection that was made but has not told its versions yet (broker/index.js).
  if (link instanceof Error && link.message === "Broker not connected") return true;
  // A join that lost to a rebalance comes as a bare KafkaJSError, without the protocol's name for it.
  const isNamed = field(link, "type") !== "" || field(link, "name") === "KafkaJSError";
  return isNamed && (link as { retriable?: unknown }).retriable === true;
}

function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  const queue: unknown[] = [error];
  while (queue.length > 0 && chain.length < 20) {
    const link = queue.shift();
    if (link === undefined || link === null || chain.includes(link)) continue;
    chain.push(link);
    if (typeof link !== "object") continue;
    const { cause, errors } = link as { cause?: unknown; errors?: unknown };
    queue.push(cause, ...(Array.isArray(errors) ? errors : []));
  }
  return chain;
}

function field(link: unknown, name: string): string {
  if (typeof link !== "object" || link === null) return "";
  const value = (link as Record<string, unknown>)[name];
  return typeof value === "string" ? value : "";
}

function textOf(link: unknown): string {
  const text = link instanceof Error ? link.message : link;
  return (typeof text === "string" && text.split("\n")[0]) || "unknown failure";
}
