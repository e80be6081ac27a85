/** What the client throws, in our codes. */

import { LabError } from "../core/errors.ts";
import type { KafkaOptions } from "./ports.ts";
import { identityOf } from "./security.ts";

/** Kafka's names of what an attempt needs to be allowed. */
export type Rights = { topic?: string; group?: string; cluster?: string };

export const READER: Rights = { topic: "READ", group: "READ" };
export const WRITER: Rights = { topic: "WRITE", cluster: "IDEMPOTENT_WRITE" };

/** What was tried: named in the message where the client says nothing useful. */
export type Attempt = Pick<KafkaOptions, "brokers" | "sasl" | "tls"> & {
  topic?: string;
  group?: string;
  /** Default: to look at a topic or group. */
  rights?: Rights;
};

/** The client swallows why it found none (2.2.4, brokerPool.js, withBroker): it may be away, or we may not ask. */
export function isCoordinatorUnfound(error: unknown): boolean {
  return causes(error).some((link) => field(link, "name") === "KafkaJSGroupCoordinatorNotFound");
}

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

/** Errors of rights, by the kind of what they protect. */
const FORBIDDEN: Readonly<Record<string, keyof Rights>> = {
  TOPIC_AUTHORIZATION_FAILED: "topic",
  GROUP_AUTHORIZATION_FAILED: "group",
  CLUSTER_AUTHORIZATION_FAILED: "cluster",
};
const DENIED = new Set([
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
      hint: `make it with: lab produce --topic ${named} --source FILE.ndjson`,
      details: { topic: named },
      cause,
    });
  if (type === "INVALID_TOPIC_EXCEPTION")
    return new LabError("USAGE", `${JSON.stringify(named)} is not a topic name`, {
      hint: "1 to 249 of: letters, digits, dot, underscore, hyphen",
      cause,
    });
  if (type === "MESSAGE_TOO_LARGE" || type === "RECORD_LIST_TOO_LARGE")
    return new LabError("MESSAGE_TOO_LARGE", `the broker refuses a message of topic ${named} as too large`, {
      hint: RAISE_LIMIT,
      cause,
    });
  const protectedKind = FORBIDDEN[type];
  if (protectedKind !== undefined) return forbidden(protectedKind, cause, attempt);
  const tls = tlsFailure(link, cause, attempt);
  if (tls !== null) return tls;
  if (type === "INCONSISTENT_GROUP_PROTOCOL")
    return new LabError("USAGE", `group ${attempt.group ?? "?"} is in use by a program of another kind`, {
      hint: "give a group of its own with --group",
      cause,
    });
  if (DENIED.has(type) || field(link, "name") === "KafkaJSSASLAuthenticationError")
    return new LabError("KAFKA_DENIED", `${at} refuses ${identityOf(attempt)}: ${textOf(link)}`, {
      hint: "check kafka.sasl: mechanism, user and password",
      cause,
    });
  if (type === "UNSUPPORTED_COMPRESSION_TYPE" || field(link, "name") === "KafkaJSNotImplemented")
    return new LabError("CODEC_UNSUPPORTED", textOf(link), { cause });
  return null;
}

/** Which right is missing on what. `details.missing` is that as `READ on topic orders`. */
function forbidden(kind: keyof Rights, cause: unknown, attempt: Attempt): LabError {
  const { topic = "?", group = "?", brokers, rights = {} } = attempt;
  const right = rights[kind] ?? "DESCRIBE";
  const resource = { topic: `topic ${topic}`, group: `group ${group}`, cluster: "the cluster" }[kind];
  const flag = { topic: `--topic ${topic}`, group: `--group ${group}`, cluster: "--cluster" }[kind];
  const who = identityOf(attempt);
  const principal = who.startsWith("User:") ? who : "User:NAME";
  const includes = right === "DESCRIBE" ? " (READ and WRITE include it)" : "";
  return new LabError("KAFKA_DENIED", `${who} lacks ${right} on ${resource} at ${brokers.join(", ")}`, {
    hint: `allow it${includes}: kafka-acls --add --allow-principal ${principal} --operation ${right} ${flag}`,
    details: { missing: `${right} on ${resource}` },
    cause,
  });
}

const UNTRUSTED = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "INVALID_CA",
]);

/** What Node and OpenSSL say when a connection under TLS does not come about, or is taken back by the broker right after. */
function tlsFailure(link: unknown, cause: unknown, attempt: Attempt): LabError | null {
  const code = field(link, "code");
  const broker = field(link, "broker") || attempt.brokers.join(", ");
  const fail = (what: string, hint: string) =>
    new LabError("KAFKA_TLS", `${broker}: ${what}`, { hint, cause });
  if (UNTRUSTED.has(code))
    return fail(
      "its certificate is signed by nobody we trust",
      "give the certificate of the authority that signed it: kafka.ssl.ca",
    );
  if (code === "CERT_HAS_EXPIRED")
    return fail("its certificate has expired", "whoever runs the broker must renew it; and check our clock");
  if (code === "CERT_NOT_YET_VALID")
    return fail("its certificate is not valid yet", "check the clocks, ours and the broker's");
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return fail(
      "its certificate is for another host name",
      "use the name in the certificate as address, or give up that check with kafka.ssl.checkServerName: false",
    );
  if (/^ERR_SSL_.*WRONG_VERSION_NUMBER$/.test(code))
    return fail("it speaks no TLS", "give the address of its TLS listener, or leave kafka.ssl out");
  if (!/^ERR_SSL_.*(ALERT|HANDSHAKE|CERTIFICATE)/.test(code)) return null;
  return attempt.tls?.client === undefined
    ? fail("it wants a client certificate", "give one: kafka.ssl.cert and kafka.ssl.key")
    : fail(
        `it refuses our certificate (${code
          .replace(/^ERR_SSL_/, "")
          .toLowerCase()
          .replaceAll("_", " ")})`,
        "check kafka.ssl.cert: signed by an authority that the broker trusts, and not expired",
      );
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
