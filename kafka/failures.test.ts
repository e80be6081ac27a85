import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import kafkajs from "kafkajs";
import { type ErrorCode, LabError } from "../core/errors.ts";
import { classify } from "./failures.ts";

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
