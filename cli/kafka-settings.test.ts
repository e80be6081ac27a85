import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError, LabError } from "../core/errors.ts";
import { readSettings } from "../core/settings.ts";
import { COMMANDS } from "./commands.ts";
import { KAFKA, kafkaEnv, kafkaSecurity } from "./kafka-settings.ts";
import { labText, parseLabYaml } from "./lab-yaml.ts";
import { REGISTRY, registryAccess } from "./registry-settings.ts";

const SECRET = "s3cr3t-19af";
type Given = { flags?: Record<string, string>; env?: Record<string, string>; yaml?: string };

function read({ flags = {}, env = {}, yaml = "" }: Given) {
  const lab = parseLabYaml(yaml, "lab.yaml");
  const values = readSettings({ ...KAFKA, ...REGISTRY }, { flags, env, file: labText(lab) });
  return { values, given: { env, lab } };
}

async function security(given: Given) {
  const { values, given: rest } = read(given);
  return kafkaSecurity(values, rest);
}

async function file(t: TestContext, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "secret-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "it"), text);
  return join(folder, "it");
}

/** A CONFIG_INVALID or USAGE whose text matches, and shows no secret. */
async function refuses(given: Given, text: RegExp): Promise<void> {
  const error = await security(given).then(
    () => assert.fail("not refused"),
    (thrown: unknown) => thrown,
  );
  assert.ok(isLabError(error, "CONFIG_INVALID", "USAGE"), String(error));
  assert.match(`${error.message} ${error.hint}`, text);
  const shown = [error.message, error.hint, JSON.stringify(error.details), String(error.stack)].join();
  assert.ok(!shown.includes(SECRET), shown);
}

test("without settings a broker is spoken to in the clear, by nobody", async () => {
  assert.deepEqual(await security({}), { sasl: undefined, tls: undefined });
});

test("a password comes from a variable, a file, KAFKA_PASSWORD or lab.yaml, and a newline at its end is no part of it", async (t) => {
  const path = await file(t, `${SECRET}\n`);
  const sasl = { mechanism: "SCRAM-SHA-512", username: "alice", password: SECRET };
  const yaml = (password: string) =>
    `kafka: { sasl: { mechanism: SCRAM-SHA-512, username: alice, password: "${password}" } }`;
  const flags = { "--kafka-sasl": "SCRAM-SHA-512", "--kafka-username": "alice" };
  const ways: Given[] = [
    { yaml: yaml(SECRET) },
    { yaml: yaml("env:MINE"), env: { MINE: SECRET } },
    { yaml: yaml(`file:${path}`) },
    { flags, env: { KAFKA_PASSWORD: SECRET } },
    { flags: { ...flags, "--kafka-password": "env:MINE" }, env: { MINE: SECRET } },
    { flags: { ...flags, "--kafka-password": `file:${path}` } },
  ];
  for (const way of ways) assert.deepEqual((await security(way)).sasl, sasl);
});

test("a secret on the command line is refused, and not shown", () =>
  refuses(
    { flags: { "--kafka-password": SECRET } },
    /--kafka-password does not take a secret itself.*file:/,
  ));

test("what is missing or does not fit is named by its setting", async (t) => {
  const plain = { "--kafka-sasl": "PLAIN", "--kafka-username": "alice" };
  await refuses({ flags: plain }, /PLAIN needs kafka.sasl.password.*--kafka-password.*KAFKA_PASSWORD/);
  await refuses({ flags: { ...plain, "--kafka-password": "env:NOT_SET" } }, /variable NOT_SET is not set/);
  await refuses({ flags: { ...plain, "--kafka-password": "file:/no/such" } }, /\/no\/such cannot be read/);
  const empty = await file(t, "\n");
  await refuses({ flags: { ...plain, "--kafka-password": `file:${empty}` } }, /is empty/);
  await refuses({ env: { KAFKA_PASSWORD: SECRET } }, /kafka.sasl.password is given, and no mechanism/);
  await refuses({ flags: { "--kafka-sasl": "OAUTHBEARER" } }, /needs kafka.sasl.tokenEndpoint/);
  await refuses({ flags: { "--kafka-sasl": "AWS_MSK_IAM" } }, /needs kafka.sasl.region/);
  await refuses({ flags: { "--kafka-cert": "/x.pem" } }, /only one is given/);
  await refuses({ flags: { "--kafka-ca": "/no/such.pem" } }, /kafka.ssl.ca: \/no\/such.pem cannot be read/);
});

test("wrong keys of lab.yaml are named, and a wrong secret is not shown", () => {
  const refused = (yaml: string) => {
    try {
      parseLabYaml(yaml, "lab.yaml");
    } catch (error) {
      assert.ok(error instanceof LabError && !`${error.message}${error.hint}`.includes("1234567"));
      return error.message;
    }
    return "";
  };
  assert.match(refused("kafka: { ssl: { caFile: x } }"), /kafka.ssl.caFile is no key/);
  assert.match(
    refused("kafka: { sasl: { mechanism: PLAIN, password: 1234567 } }"),
    /kafka.sasl.password is of/,
  );
  assert.match(refused("kafka: { sasl: { mechanism: PLAIN, password: { a: 1234567 } } }"), /kafka.sasl.pass/);
  assert.match(refused("kafka: { sasl: [1234567] }"), /kafka.sasl is of another kind/);
  assert.match(refused("kafka: { sasl: { mechanism: KERBEROS } }"), /is "KERBEROS": is none of PLAIN/);
});

test("TLS is on where lab.yaml has ssl, a certificate is given, or MSK is meant; and off where it is said", async (t) => {
  const pem = await file(t, "PEM");
  assert.deepEqual((await security({ yaml: "kafka: { ssl: {} }" })).tls, { checkServerName: true });
  const cert = { "--kafka-cert": pem, "--kafka-key": pem };
  const client = { cert: "PEM", key: "PEM" };
  assert.deepEqual((await security({ flags: cert })).tls, { client, checkServerName: true });
  assert.deepEqual((await security({ flags: { "--kafka-ca": pem } })).tls, {
    ca: "PEM",
    checkServerName: true,
  });
  const yaml = `kafka: { ssl: { checkServerName: false, ca: "env:CA" } }`;
  assert.deepEqual((await security({ yaml, env: { CA: "PEM" } })).tls, { ca: "PEM", checkServerName: false });
  assert.equal((await security({ yaml, flags: { "--kafka-tls": "off" } })).tls, undefined);
  const msk = await security({ flags: { "--kafka-sasl": "AWS_MSK_IAM" }, env: { AWS_REGION: "eu-west-1" } });
  assert.equal(msk.sasl?.mechanism, "OAUTHBEARER");
  assert.deepEqual(msk.tls, { checkServerName: true });
});

test("children get the same settings as variables, with references and never with a secret", () => {
  const flags = {
    "--kafka-sasl": "PLAIN",
    "--kafka-password": "env:MINE",
    "--kafka-check-server-name": "off",
  };
  assert.deepEqual(kafkaEnv(read({ flags }).values), {
    KAFKA_SASL: "PLAIN",
    KAFKA_PASSWORD: "env:MINE",
    KAFKA_CHECK_SERVER_NAME: "off",
  });
  const yaml = `kafka: { sasl: { mechanism: PLAIN, username: a, password: "${SECRET}" } }`;
  assert.deepEqual(kafkaEnv(read({ yaml }).values), { KAFKA_SASL: "PLAIN", KAFKA_USERNAME: "a" });
});

test("a registry is reached with a user, a token, or nothing", () => {
  const of = (given: Given) => {
    const { values, given: rest } = read(given);
    return registryAccess(values, rest.env);
  };
  const url = "http://registry:8081";
  assert.equal(of({}), undefined);
  assert.deepEqual(of({ yaml: `kafka: { registry: { url: "${url}" } }` }), { url });
  const yaml = `kafka: { registry: { url: "${url}", username: a, password: "env:P" } }`;
  assert.deepEqual(of({ yaml, env: { P: SECRET } }), { url, auth: { user: "a", password: SECRET } });
  const flags = { "--registry-url": url, "--registry-token": "env:T" };
  assert.deepEqual(of({ flags, env: { T: SECRET } }), { url, auth: { bearer: SECRET } });
  const invalid = (error: unknown) => isLabError(error, "CONFIG_INVALID");
  assert.throws(() => of({ env: { SCHEMA_REGISTRY_TOKEN: SECRET } }), invalid);
  assert.throws(() => of({ flags: { "--registry-url": url, "--registry-username": "a" } }), invalid);
});

test("every command that takes a broker takes all that a secured one asks for", async () => {
  for (const [name, load] of Object.entries(COMMANDS)) {
    const { settings } = await load();
    // The benchmarks start brokers of their own.
    if (!("kafka" in settings) || name === "bench") continue;
    for (const each of Object.keys(KAFKA)) assert.ok(each in settings, `${name} lacks ${each}`);
  }
});
