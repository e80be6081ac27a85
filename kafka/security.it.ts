/** Every way into a secured broker, and what is said where there is none: one real broker with all of them. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import kafkajs, { type AclEntry } from "kafkajs";
import { type ErrorCode, isLabError, type LabError } from "../core/errors.ts";
import { createLog } from "../core/log.ts";
import { startLab } from "../test/support/lab.ts";
import { type ListenerName, type SecureBroker, startSecureBroker } from "../test/support/secure-broker.ts";
import { startTokenEndpoint, unsecuredToken } from "../test/support/token-endpoint.ts";
import { connectKafka } from "./client.ts";
import type { Kafka, KafkaOptions, Sasl, Tls } from "./ports.ts";
import { openReader, until } from "./reader.suite.ts";
import { clientCredentials } from "./token.ts";

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
type Access = { sasl?: Sasl; tls?: Tls };

let broker: SecureBroker;
before(async () => {
  broker = await startSecureBroker();
});
after(() => broker?.close());

const password = (
  username: "admin" | "alice" | "mallory",
  mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512",
) => ({ mechanism, username, password: broker.passwords[username] }) as const;
const trusting = (more: Partial<Tls> = {}): Tls => ({ ca: broker.ca, checkServerName: true, ...more });
const signed = (subject: string, lifeSeconds = 300): Sasl => ({
  mechanism: "OAUTHBEARER",
  token: async () => unsecuredToken(subject, lifeSeconds),
});

function kafkaAt(listener: ListenerName | "open", access: Access, more: Partial<KafkaOptions> = {}): Kafka {
  const brokers = listener === "open" ? broker.open : broker.address(listener);
  return connectKafka({ brokers, clientId: "it", connectTimeoutMs: 10_000, ...access, ...more });
}

const entry = (
  principal: string,
  resource: Pick<AclEntry, "resourceType" | "resourceName">,
  operation: number,
) => ({
  ...resource,
  principal,
  operation,
  host: "*",
  resourcePatternType: ResourcePatternTypes.LITERAL,
  permissionType: AclPermissionTypes.ALLOW,
});
const topicOf = (resourceName: string) => ({ resourceType: AclResourceTypes.TOPIC, resourceName });
const groupOf = (resourceName: string) => ({ resourceType: AclResourceTypes.GROUP, resourceName });

async function allow(...acl: AclEntry[]): Promise<void> {
  await broker.admin.createAcls({ acl });
}
async function forbid(...filters: AclEntry[]): Promise<void> {
  await broker.admin.deleteAcls({ filters });
}

async function newTopic(partitions = 1): Promise<string> {
  const topic = `t-${randomUUID()}`;
  const admin = await kafkaAt("open", {}).admin();
  await admin.createTopic(topic, { partitions });
  await admin.close();
  return topic;
}

test("records go in and come out through each way in, by source, sink and admin", async (t) => {
  const ways: [what: string, listener: ListenerName, access: Access][] = [
    ["PLAIN", "SASL", { sasl: password("admin", "PLAIN") }],
    ["SCRAM-SHA-256", "SASL", { sasl: password("admin", "SCRAM-SHA-256") }],
    ["SCRAM-SHA-512 under TLS", "SASLTLS", { sasl: password("admin", "SCRAM-SHA-512"), tls: trusting() }],
    ["OAUTHBEARER", "OAUTH", { sasl: signed("admin") }],
    ["a client certificate", "MTLS", { tls: trusting({ client: broker.alice }) }],
    ["a name that is not looked at", "OTHER", { tls: trusting({ checkServerName: false }) }],
  ];
  await Promise.all(
    ways.map(async ([what, listener, access]) => {
      const topic = await newTopic();
      const rights = [
        entry("User:alice", topicOf(topic), AclOperationTypes.WRITE),
        entry("User:alice", topicOf(topic), AclOperationTypes.READ),
        entry("User:alice", groupOf(topic), AclOperationTypes.READ),
      ];
      await allow(...rights);
      const kafka = kafkaAt(listener, access);
      const sink = await kafka.sink({ acks: "all", idempotent: true });
      await sink.send(topic, [{ key: null, value: what }]);
      await sink.close();
      const reader = openReader(t, kafka, { topic, group: topic });
      await reader.untilPosition(0, 1n);
      assert.deepEqual(reader.values(0), [what]);
      const admin = await kafka.admin();
      assert.equal((await admin.watermarks(topic)).get(0)?.high, 1n, what);
      const found = await admin.recordAt({ topic, partition: 0, nextOffset: 0n }, t.signal);
      assert.equal(found?.value?.toString(), what);
      await admin.close();
      await reader.source.close();
    }),
  );
});

test("what keeps us out is told at the first contact, each with its reason", async () => {
  const wrong = { username: "alice", password: "a wrong one" } as const;
  const ways: [listener: ListenerName | "open", access: Access, code: ErrorCode, text: RegExp][] = [
    [
      "SASL",
      { sasl: { mechanism: "PLAIN", ...wrong } },
      "KAFKA_DENIED",
      /refuses User:alice: .*Invalid username/,
    ],
    [
      "SASL",
      { sasl: { mechanism: "SCRAM-SHA-512", ...wrong } },
      "KAFKA_DENIED",
      /User:alice: .*invalid cred/,
    ],
    [
      "SASLTLS",
      { sasl: password("alice", "SCRAM-SHA-256"), tls: trusting() },
      "KAFKA_DENIED",
      /does not offer SASL SCRAM-SHA-256, but PLAIN, SCRAM-SHA-512|but SCRAM-SHA-512, PLAIN/,
    ],
    ["OAUTH", { sasl: signed("alice", -60) }, "KAFKA_DENIED", /refuses the token: invalid_token/],
    ["SASL", {}, "KAFKA_DENIED", /wants to know who calls, by SASL .*SCRAM-SHA-256.*kafka\.sasl/],
    ["open", { sasl: password("alice", "PLAIN") }, "KAFKA_DENIED", /takes no SASL/],
    ["MTLS", {}, "KAFKA_TLS", /speaks TLS, and we spoke in the clear.*kafka\.ssl/],
    ["SASLTLS", { sasl: password("alice", "PLAIN") }, "KAFKA_TLS", /speaks TLS, and we spoke in the clear/],
    ["open", { tls: trusting() }, "KAFKA_TLS", /speaks in the clear, and we spoke TLS/],
    [
      "MTLS",
      { tls: trusting({ ca: broker.strangerCa, client: broker.alice }) },
      "KAFKA_TLS",
      /nobody we trust.*ca/,
    ],
    ["STALE", { tls: trusting() }, "KAFKA_TLS", /has expired/],
    ["OTHER", { tls: trusting() }, "KAFKA_TLS", /another host name.*checkServerName/],
    ["MTLS", { tls: trusting() }, "KAFKA_TLS", /wants a client certificate/],
    ["MTLS", { tls: trusting({ client: broker.stranger }) }, "KAFKA_TLS", /refuses our certificate/],
  ];
  await Promise.all(
    ways.map(async ([listener, access, code, text]) => {
      const kafka = kafkaAt(listener, access);
      const refused = (error: unknown) => {
        assert.ok(isLabError(error, code), `${text} as ${code}, but: ${error}`);
        assert.match(`${error.message}; ${error.hint}`, text);
        assert.equal(error.exit, 2);
        return true;
      };
      await assert.rejects(kafka.admin(), refused);
      const handlers = { assigned() {}, revoked() {}, async batch() {}, outage() {}, fatal() {} };
      await assert.rejects(kafka.source({ topics: ["t"], group: "g" }).run(handlers), refused);
    }),
  );
  const halves = { cert: broker.alice.cert, key: broker.stranger.key };
  assert.throws(
    () => kafkaAt("MTLS", { tls: trusting({ client: halves }) }),
    (error) => isLabError(error, "CONFIG_INVALID") && /key values mismatch/.test(error.message),
  );
});

test("a right that is missing at the start is named with its topic or group", async () => {
  const topic = await newTopic();
  const kafka = kafkaAt("SASL", { sasl: password("mallory", "SCRAM-SHA-512") });
  const lacks = (missing: string) => (error: unknown) => {
    assert.ok(isLabError(error, "KAFKA_DENIED"), String(error));
    assert.equal(error.details.missing, missing);
    assert.match(error.message, /^User:mallory lacks /);
    return true;
  };
  const read = () =>
    kafka.source({ topics: [topic], group: topic }).run({
      assigned: () => assert.fail("it was let in"),
      revoked() {},
      async batch() {},
      outage() {},
      fatal() {},
    });
  const admin = await kafka.admin();
  await assert.rejects(admin.partitions(topic), lacks(`DESCRIBE on topic ${topic}`));
  await assert.rejects(admin.watermarks(topic), lacks(`DESCRIBE on topic ${topic}`));
  const describe = lacks(`DESCRIBE on topic t-new`);
  await assert.rejects(admin.createTopic("t-new", { partitions: 1 }), describe);
  await assert.rejects(read(), lacks(`READ on topic ${topic}`));
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  await assert.rejects(sink.send(topic, [{ key: null, value: "v" }]), lacks(`DESCRIBE on topic ${topic}`));

  await allow(entry("User:mallory", topicOf(topic), AclOperationTypes.DESCRIBE));
  await until("the right is there", () =>
    admin.partitions(topic).then(
      () => true,
      () => false,
    ),
  );
  assert.equal(
    await admin.createTopic(topic, { partitions: 1 }),
    false,
    "what is there needs no right to make it",
  );
  await assert.rejects(sink.send(topic, [{ key: null, value: "v" }]), (error: LabError) =>
    lacks(/cluster/.test(error.message) ? "IDEMPOTENT_WRITE on the cluster" : `WRITE on topic ${topic}`)(
      error,
    ),
  );
  await assert.rejects(read(), lacks(`READ on group ${topic}`));
  await sink.close();
  await admin.close();
});

test("rights that are taken away while reading are an outage that is told, and reading goes on when they are back", async (t) => {
  const topic = await newTopic();
  const open = await kafkaAt("open", {}).sink({ acks: "all", idempotent: true });
  t.after(() => open.close());
  const rights = {
    topic: entry("User:alice", topicOf(topic), AclOperationTypes.READ),
    group: entry("User:alice", groupOf(topic), AclOperationTypes.READ),
  };
  await allow(rights.topic, rights.group);
  const reader = openReader(t, kafkaAt("SASL", { sasl: password("alice", "PLAIN") }), {
    topic,
    group: topic,
  });
  let sent = 0;
  for (const [kind, missing] of [
    ["topic", `READ on topic ${topic}`],
    ["group", `READ on group ${topic}`],
  ] as const) {
    await open.send(topic, [{ key: null, value: String(sent++) }]);
    await reader.untilPosition(0, BigInt(sent));
    const before = reader.outages.length;
    await forbid(rights[kind]);
    await until(`the outage for the ${kind}`, () => reader.outages.length > before);
    const told = reader.outages[before];
    assert.ok(isLabError(told, "KAFKA_DENIED"), String(told));
    assert.equal(told.details.missing, missing);
    await open.send(topic, [{ key: null, value: String(sent++) }]);
    await allow(rights[kind]);
    await reader.untilPosition(0, BigInt(sent));
  }
  assert.deepEqual(reader.values(0), ["0", "1", "2", "3"]);
  assert.deepEqual([reader.breaches, reader.fatals], [[], []]);
});

test("a writer that loses its right is told at once", async () => {
  const topic = await newTopic();
  const right = entry("User:alice", topicOf(topic), AclOperationTypes.WRITE);
  await allow(right);
  const kafka = kafkaAt("SASL", { sasl: password("alice", "PLAIN") });
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  await sink.send(topic, [{ key: null, value: "v" }]);
  await forbid(right);
  let refused: unknown;
  await until("the refusal", async () => {
    refused = await sink.send(topic, [{ key: null, value: "v" }]).then(
      () => undefined,
      (error: unknown) => error,
    );
    return refused !== undefined;
  });
  assert.ok(isLabError(refused, "KAFKA_DENIED"), String(refused));
  await sink.close();
});

test("tokens come from an endpoint, are renewed, and an endpoint that is away is an outage", async (t) => {
  const endpoint = await startTokenEndpoint({ clientSecret: "client secret", lifeSeconds: 300 });
  t.after(() => endpoint.close());
  const client = { tokenEndpoint: endpoint.url, clientId: "admin", clientSecret: "client secret" };
  const kafka = kafkaAt("OAUTH", { sasl: { mechanism: "OAUTHBEARER", token: clientCredentials(client) } });
  for (let n = 0; n < 3; n++) {
    const admin = await kafka.admin();
    await admin.topics();
    await admin.close();
  }
  assert.equal(endpoint.requests.length, 1);

  const other = kafkaAt(
    "OAUTH",
    { sasl: { mechanism: "OAUTHBEARER", token: clientCredentials(client) } },
    { connectTimeoutMs: 20_000 },
  );
  endpoint.fail(503);
  const connecting = other.admin();
  await until("it was asked for again and again", () => endpoint.requests.length >= 3);
  endpoint.heal();
  await (await connecting).close();

  const denied = { ...client, clientSecret: "wrong" };
  await assert.rejects(
    kafkaAt("OAUTH", { sasl: { mechanism: "OAUTHBEARER", token: clientCredentials(denied) } }).admin(),
    (error) => isLabError(error, "KAFKA_DENIED") && /invalid_client/.test(error.message),
  );
});

test("a token that ends is followed by another on the same connections, and nothing is noticed of it", async (t) => {
  const topic = await newTopic();
  let asked = 0;
  const token = async () => {
    asked += 1;
    // The client renews it 10 s before its end.
    return unsecuredToken("admin", 13);
  };
  const kafka = kafkaAt("OAUTH", { sasl: { mechanism: "OAUTHBEARER", token } });
  const sink = await kafka.sink({ acks: "all", idempotent: true });
  t.after(() => sink.close());
  const reader = openReader(t, kafka, { topic, group: topic });
  let sent = 0n;
  const sendOne = async () => {
    await sink.send(topic, [{ key: null, value: String(sent) }]);
    sent += 1n;
    await reader.untilPosition(0, sent);
  };
  await sendOne();
  const [before, startedMs] = [asked, Date.now()];
  await until("all are authenticated anew", async () => {
    await sendOne();
    return Date.now() - startedMs > 3_500 && asked > before + 1;
  });
  await sendOne();
  assert.deepEqual([reader.outages, reader.breaches, reader.assigned.length], [[], [], 1]);
});

test("no secret is logged or shown, at the most talkative, whether it lets us in or not", async (t) => {
  const secrets = [...Object.values(broker.passwords), "a-wrong-secret-77", "PRIVATE KEY"];
  const shown: string[] = [];
  const log = createLog("it", { level: "trace", to: { write: (line) => void shown.push(line) } });
  // The client's own switches for debugging, which print whole messages.
  for (const [name, value] of [
    ["KAFKAJS_LOG_LEVEL", "debug"],
    ["KAFKAJS_DEBUG_PROTOCOL_BUFFERS", "1"],
  ] as const) {
    process.env[name] = value;
    t.after(() => delete process.env[name]);
  }
  const token = unsecuredToken("mallory", 300);
  const attempts: [ListenerName, Access][] = [
    ["SASL", { sasl: password("mallory", "PLAIN") }],
    ["SASL", { sasl: password("mallory", "SCRAM-SHA-512") }],
    ["SASL", { sasl: { mechanism: "PLAIN", username: "alice", password: "a-wrong-secret-77" } }],
    ["SASL", { sasl: { mechanism: "SCRAM-SHA-256", username: "alice", password: "a-wrong-secret-77" } }],
    ["OAUTH", { sasl: { mechanism: "OAUTHBEARER", token: async () => token } }],
    ["MTLS", { tls: trusting({ client: broker.stranger }) }],
  ];
  await Promise.all(
    attempts.map(async ([listener, access]) => {
      try {
        const admin = await kafkaAt(listener, access, { log }).admin();
        await admin.partitions("none").catch((error: unknown) => shown.push(inspect(error, { depth: 9 })));
        await admin.close();
      } catch (error) {
        shown.push(inspect(error, { depth: 9 }));
      }
    }),
  );
  assert.ok(shown.filter((line) => line.includes('"level":20')).length > 20, "the client was talkative");

  const folder = await mkdtemp(join(tmpdir(), "lab-secrets-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "pw"), `${broker.passwords.mallory}\n`);
  const [address = ""] = broker.address("SASL");
  const yaml = `kafka: { brokers: "${address}", sasl: { mechanism: PLAIN, username: mallory, password: "file:pw" } }\n`;
  await writeFile(join(folder, "lab.yaml"), yaml);
  const env = { WRONG: "a-wrong-secret-77", KAFKAJS_LOG_LEVEL: "debug", KAFKAJS_DEBUG_PROTOCOL_BUFFERS: "1" };
  const runs: [args: string[], status: number, text: RegExp][] = [
    [
      ["ingest", "--topic", "t-none", "--once"],
      2,
      /User:mallory lacks DESCRIBE on topic t-none.*\n.*READ on topic t-none and READ on group lab\.t_none\./,
    ],
    [["produce", "--topic", "t-none", "--kafka-password", "env:WRONG"], 2, /refuses User:mallory/],
    [["doctor", "--kafka-password", "env:WRONG", "--json"], 3, /refuses User:mallory/],
    [["produce", "--topic", "t-none", "--kafka-password", "a-wrong-secret-77"], 2, /does not take a secret/],
  ];
  await Promise.all(
    runs.map(async ([args, status, text]) => {
      const run = startLab([...args, "--verbose"], { cwd: folder, env });
      t.after(() => run.child.kill("SIGKILL"));
      assert.equal((await run.ended).status, status, run.stderr());
      assert.match(run.stdout() + run.stderr(), text);
      shown.push(run.stdout(), run.stderr());
    }),
  );
  for (const secret of [...secrets, token])
    for (const form of [secret, Buffer.from(secret).toString("base64"), Buffer.from(secret).join(",")])
      assert.ok(!shown.some((text) => text.includes(form)), `${secret.slice(0, 8)}... was shown`);
});
