import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import fc from "fast-check";
import kafkajs from "kafkajs";
import { type ErrorCode, LabError } from "../core/errors.ts";
import { classify, READER, type Rights, WRITER } from "./failures.ts";
import type { Tls } from "./ports.ts";

const attempt = { brokers: ["one:9092", "two:9092"], topic: "orders" };

/** As the client makes them. */
function protocolError(type: string, retriable: boolean): Error {
  const plain = Object.assign(new Error(`the broker said ${type}`), { type, code: 1, retriable });
  return new kafkajs.KafkaJSProtocolError(plain);
}

function exhausted(cause: Error): Error {
  return new kafkajs.KafkaJSNumberOfRetriesExceeded(cause, { retryCount: 5, retryTime: 1000 });
}

/** Some of the client's classes take, by their types, no message. */
function vendorError(name: string, message: string): Error {
  return Object.assign(new Error(message), { name, retriable: false });
}

const codecError = new LabError("CODEC_UNSUPPORTED", "no");
const refused = new kafkajs.KafkaJSConnectionError("Connection error: connect ECONNREFUSED", {
  code: "ECONNREFUSED",
});

const cases: [what: string, error: unknown, code: ErrorCode][] = [
  ["a refused connection", refused, "BROKER_UNREACHABLE"],
  ["the same after all retries", exhausted(refused), "BROKER_UNREACHABLE"],
  [
    "a name that is not found",
    Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }),
    "BROKER_UNREACHABLE",
  ],
  [
    "a request without an answer",
    new kafkajs.KafkaJSRequestTimeoutError("timed out", {} as never),
    "BROKER_UNREACHABLE",
  ],
  ["an election", protocolError("LEADER_NOT_AVAILABLE", true), "BROKER_UNREACHABLE"],
  ["a member the group forgot", protocolError("UNKNOWN_MEMBER_ID", false), "BROKER_UNREACHABLE"],
  [
    "a join that lost to a rebalance",
    exhausted(new kafkajs.KafkaJSError("rebalancing")),
    "BROKER_UNREACHABLE",
  ],
  ["a connection that knows no versions yet", new Error("Broker not connected"), "BROKER_UNREACHABLE"],
  ["a missing topic", protocolError("UNKNOWN_TOPIC_OR_PARTITION", true), "TOPIC_MISSING"],
  [
    "the same after all retries",
    exhausted(protocolError("UNKNOWN_TOPIC_OR_PARTITION", true)),
    "TOPIC_MISSING",
  ],
  ["a bad topic name", protocolError("INVALID_TOPIC_EXCEPTION", false), "USAGE"],
  [
    "a list of one failure",
    Object.assign(new Error("Topic creation errors"), {
      errors: [protocolError("INVALID_TOPIC_EXCEPTION", false)],
    }),
    "USAGE",
  ],
  ["no right to a topic", protocolError("TOPIC_AUTHORIZATION_FAILED", false), "KAFKA_DENIED"],
  ["a wrong password", vendorError("KafkaJSSASLAuthenticationError", "SASL failed"), "KAFKA_DENIED"],
  ["a message beyond the limit", protocolError("MESSAGE_TOO_LARGE", false), "MESSAGE_TOO_LARGE"],
  [
    "an unknown codec",
    vendorError("KafkaJSNotImplemented", "ZSTD compression not implemented"),
    "CODEC_UNSUPPORTED",
  ],
  [
    "a codec's own word",
    Object.assign(new kafkajs.KafkaJSNonRetriableError(codecError), { cause: codecError }),
    "CODEC_UNSUPPORTED",
  ],
  ["another kind of member in the group", protocolError("INCONSISTENT_GROUP_PROTOCOL", false), "USAGE"],
  ["an old broker", protocolError("UNSUPPORTED_VERSION", false), "KAFKA_PROTOCOL"],
  ["a bug", new TypeError("x is not a function"), "INTERNAL"],
  [
    "a bug that the client wrapped",
    new kafkajs.KafkaJSNonRetriableError(new TypeError("x is not a function")),
    "KAFKA_PROTOCOL",
  ],
  ["something that is no error", "boom", "INTERNAL"],
  ["nothing at all", undefined, "INTERNAL"],
];

for (const [what, error, code] of cases)
  test(`${what} is ${code}`, () => {
    const found = classify(error, attempt);
    assert.equal(found.code, code);
    assert.ok(!found.message.includes("\n"));
  });

test("a right that is missing is named with what it is for, and how to give it", () => {
  const who = {
    ...attempt,
    group: "lab.orders.1234",
    sasl: { mechanism: "PLAIN", username: "alice", password: "x" },
  } as const;
  const missing = (type: string, rights?: Rights) => {
    const { code, message, hint, details } = classify(protocolError(type, false), {
      ...who,
      ...(rights === undefined ? {} : { rights }),
    });
    assert.equal(code, "KAFKA_DENIED");
    assert.match(message, /^User:alice lacks /);
    assert.match(hint ?? "", /kafka-acls --add --allow-principal User:alice --operation [A-Z_]+ --/);
    return details.missing;
  };
  assert.equal(missing("TOPIC_AUTHORIZATION_FAILED", READER), "READ on topic orders");
  assert.equal(missing("GROUP_AUTHORIZATION_FAILED", READER), "READ on group lab.orders.1234");
  assert.equal(missing("TOPIC_AUTHORIZATION_FAILED", WRITER), "WRITE on topic orders");
  assert.equal(missing("CLUSTER_AUTHORIZATION_FAILED", WRITER), "IDEMPOTENT_WRITE on the cluster");
  assert.equal(missing("TOPIC_AUTHORIZATION_FAILED"), "DESCRIBE on topic orders");
});

test("what is wrong with a connection under TLS is told in words, with the way out", () => {
  const says = (code: string, text: RegExp, tls?: Tls) => {
    const cause = new kafkajs.KafkaJSConnectionError("Connection error: x", { broker: "one:9093", code });
    const found = classify(exhausted(cause), { ...attempt, ...(tls === undefined ? {} : { tls }) });
    assert.equal(found.code, "KAFKA_TLS");
    assert.match(`${found.message}; ${found.hint}`, text);
  };
  const client = { cert: "c", key: "k" };
  says("UNABLE_TO_VERIFY_LEAF_SIGNATURE", /^one:9093: .*signed by nobody we trust; .*kafka.ssl.ca/);
  says("SELF_SIGNED_CERT_IN_CHAIN", /signed by nobody we trust/);
  says("CERT_HAS_EXPIRED", /has expired/);
  says("CERT_NOT_YET_VALID", /not valid yet; .*clocks/);
  says("ERR_TLS_CERT_ALTNAME_INVALID", /another host name; .*checkServerName/);
  says("ERR_SSL_WRONG_VERSION_NUMBER", /speaks no TLS/);
  // As different versions of OpenSSL say it.
  says("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", /wants a client certificate; .*kafka.ssl.cert/);
  says("ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE", /wants a client certificate/);
  says("ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE", /refuses our certificate/, { client, checkServerName: true });
});

test("no password is in what is said or kept of an error", () => {
  const password = "s3cr3t-19af";
  const sasl = { mechanism: "PLAIN", username: "alice", password } as const;
  for (const error of [
    vendorError("KafkaJSSASLAuthenticationError", "SASL PLAIN authentication failed"),
    protocolError("TOPIC_AUTHORIZATION_FAILED", false),
    refused,
  ]) {
    const found = classify(error, { ...attempt, sasl });
    assert.ok(!inspect(found, { depth: 10 }).includes(password));
  }
});

test("a topic name that is refused stands in quotes, so that an empty one is seen", () => {
  const refusal = protocolError("INVALID_TOPIC_EXCEPTION", false);
  assert.match(classify(refusal, { ...attempt, topic: "" }).message, /^"" is not a topic name/);
  assert.match(classify(refusal, { ...attempt, topic: "a b" }).message, /^"a b" is not a topic name/);
});

test("the message names what was tried", () => {
  assert.match(classify(refused, attempt).message, /one:9092, two:9092.*ECONNREFUSED/);
  assert.match(
    classify(protocolError("UNKNOWN_TOPIC_OR_PARTITION", true), attempt).message,
    /^topic orders not found/,
  );
});

test("any value is classified, cycles included", () => {
  const cycle = new Error("a") as Error & { cause?: unknown; errors?: unknown[] };
  cycle.cause = cycle;
  cycle.errors = [cycle, null, 3];
  assert.equal(classify(cycle, attempt).code, "INTERNAL");
  fc.assert(fc.property(fc.anything(), (value) => classify(value, attempt) instanceof LabError));
});
