/** Credentials come by the AWS SDK's chain. One server stands in for S3 and for everybody who gives credentials. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../../core/errors.ts";
import { openStore } from "./open.ts";

const { signal } = new AbortController();
const SECRET = "wJalrXUtnFEMI-EXAMPLEKEY";

type World = {
  url: string;
  folder: string;
  /** How long the credentials that the server gives are good, in ms; null: it gives none any more. */
  lifeMs: number | null;
  /** The key id that signed the last request to S3, or null. */
  signedBy: string | null;
};

/** A process without any AWS settings but `env`, restored after the test. */
async function world(t: TestContext): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "lab-aws-"));
  const given = (AccessKeyId: string) => ({
    ...{ AccessKeyId, SecretAccessKey: SECRET, Token: "t" },
    Expiration: new Date(Date.now() + (found.lifeMs ?? 0)).toISOString(),
  });
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const path = request.url ?? "";
    const key = /Credential=([^/]+)/.exec(request.headers.authorization ?? "")?.[1];
    const answer = (text: string) => response.end(text);
    if (key !== undefined) {
      found.signedBy = key;
      response.statusCode = 404;
      answer("<Error><Code>NoSuchKey</Code></Error>");
    } else if (found.lifeMs === null) {
      response.statusCode = 500;
      answer("{}");
    } else if (body.includes("AssumeRoleWithWebIdentity")) {
      const { AccessKeyId, SecretAccessKey, Expiration } = given("ASIAWEB");
      const credentials = `<AccessKeyId>${AccessKeyId}</AccessKeyId><SecretAccessKey>${SecretAccessKey}</SecretAccessKey><SessionToken>t</SessionToken><Expiration>${Expiration}</Expiration>`;
      response.setHeader("content-type", "text/xml");
      answer(
        `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials>${credentials}</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      );
    } else if (path === "/latest/api/token") answer("metadata token");
    else if (path.endsWith("/security-credentials/")) answer("role");
    else if (path.endsWith("/security-credentials/role"))
      answer(JSON.stringify({ Code: "Success", ...given("ASIAMACHINE") }));
    else answer(JSON.stringify(given("ASIATASK")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const found: World = { url, folder, lifeMs: 3_600_000, signedBy: null };
  const before = { ...process.env };
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) delete process.env[name];
  Object.assign(process.env, {
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_CONFIG_FILE: join(folder, "config"),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, "credentials"),
    AWS_ENDPOINT_URL_S3: url,
    AWS_REGION: "eu-central-1",
  });
  t.after(async () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  return found;
}

async function signer(at: World): Promise<string | null> {
  const store = await openStore("s3://lab/tables", { signal });
  await assert.rejects(store.get("x", signal), (error) => isLabError(error, "OBJECT_MISSING"));
  await store.close();
  return at.signedBy;
}

const profile = (name: string, key: string) =>
  `[${name}]\naws_access_key_id = ${key}\naws_secret_access_key = ${SECRET}\n`;

test("a profile of the credentials file signs, the variables go before it", async (t) => {
  const at = await world(t);
  await writeFile(
    join(at.folder, "credentials"),
    profile("default", "AKIADEFAULT") + profile("team", "AKIATEAM"),
  );
  assert.equal(await signer(at), "AKIADEFAULT");
  process.env.AWS_PROFILE = "team";
  assert.equal(await signer(at), "AKIATEAM");
  delete process.env.AWS_PROFILE;
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: "AKIAENV", AWS_SECRET_ACCESS_KEY: SECRET });
  assert.equal(await signer(at), "AKIAENV");
});

test("a role is taken with a web identity token, from the task's service, or from the machine's", async (t) => {
  const at = await world(t);
  await writeFile(join(at.folder, "token"), "a token");
  Object.assign(process.env, {
    AWS_WEB_IDENTITY_TOKEN_FILE: join(at.folder, "token"),
    AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/lab",
    AWS_ENDPOINT_URL_STS: at.url,
  });
  assert.equal(await signer(at), "ASIAWEB");
  delete process.env.AWS_WEB_IDENTITY_TOKEN_FILE;
  process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI = `${at.url}/task`;
  assert.equal(await signer(at), "ASIATASK");
  delete process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI;
  delete process.env.AWS_EC2_METADATA_DISABLED;
  process.env.AWS_EC2_METADATA_SERVICE_ENDPOINT = at.url;
  assert.equal(await signer(at), "ASIAMACHINE");
});

test("none at the start is CREDENTIALS_MISSING, with the ways to give some and no secret in it", async (t) => {
  const at = await world(t);
  await writeFile(join(at.folder, "credentials"), profile("other", "AKIAOTHER"));
  process.env.AWS_PROFILE = "team";
  await assert.rejects(openStore("s3://lab/tables", { signal }), (error) => {
    assert.ok(isLabError(error, "CREDENTIALS_MISSING"), String(error));
    assert.match(error.hint ?? "", /AWS_ACCESS_KEY_ID.*credentials/);
    assert.ok(!`${error.stack}${JSON.stringify(error.details)}`.includes(SECRET));
    return true;
  });
});

test("credentials that run out while their service is away are an outage, and signing goes on when it is back", async (t) => {
  const at = await world(t);
  process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI = `${at.url}/task`;
  // So short that each request needs new ones.
  at.lifeMs = 1;
  const store = await openStore("s3://lab/tables", { signal });
  at.lifeMs = null;
  await assert.rejects(
    store.get("x", signal),
    (error) => isLabError(error, "STORE_UNREACHABLE") && error.retryable,
  );
  at.lifeMs = 3_600_000;
  await assert.rejects(store.get("x", signal), (error) => isLabError(error, "OBJECT_MISSING"));
  assert.equal(at.signedBy, "ASIATASK");
  await store.close();
});
