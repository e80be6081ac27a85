import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { startTokenEndpoint } from "../test/support/token-endpoint.ts";
import { clientCredentials, keptToken } from "./token.ts";

const SECRET = "s3cr3t: +/=é";

async function endpoint(t: TestContext, lifeSeconds = 300) {
  const started = await startTokenEndpoint({ clientSecret: SECRET, lifeSeconds });
  t.after(() => started.close());
  return started;
}

test("a token is kept until shortly before its end, and asked for once at a time", async () => {
  let nowMs = 0;
  let asked = 0;
  const token = keptToken(
    async () => {
      asked += 1;
      return { value: `token ${asked}`, expiresMs: nowMs + 600_000 };
    },
    () => nowMs,
  );
  assert.deepEqual(await Promise.all([token(), token()]), ["token 1", "token 1"]);
  nowMs = 539_999;
  assert.equal(await token(), "token 1");
  nowMs = 540_000;
  assert.equal(await token(), "token 2");
  assert.equal(asked, 2);
});

test("a token that lives shortly is used for most of its life", async () => {
  let nowMs = 0;
  let asked = 0;
  const token = keptToken(
    async () => ({ value: String(++asked), expiresMs: nowMs + 1_000 }),
    () => nowMs,
  );
  await token();
  nowMs = 749;
  assert.equal(await token(), "1");
  nowMs = 750;
  assert.equal(await token(), "2");
});

test("a failure is not kept", async () => {
  let isDown = true;
  const token = keptToken(async () => {
    if (isDown) throw new Error("down");
    return { value: "fine", expiresMs: Number.POSITIVE_INFINITY };
  });
  await assert.rejects(token(), /down/);
  isDown = false;
  assert.equal(await token(), "fine");
});

test("the client is named as RFC 6749 says, whatever its secret is made of", async (t) => {
  const at = await endpoint(t);
  const token = clientCredentials({
    ...{ tokenEndpoint: at.url, clientId: "a b:c", clientSecret: SECRET },
    scope: "kafka read",
  });
  assert.match(await token(), /^[\w-]+\.[\w-]+\.$/);
  const form = { grant_type: "client_credentials", scope: "kafka read" };
  assert.deepEqual(at.requests, [{ clientId: "a b:c", clientSecret: SECRET, form }]);
});

test("a refused client is told from an endpoint that is away, and no secret is in what is said", async (t) => {
  const at = await endpoint(t);
  const ask = (clientSecret: string, tokenEndpoint = at.url) =>
    clientCredentials({ tokenEndpoint, clientId: "lab", clientSecret })();
  const says = (code: "KAFKA_DENIED" | "TOKEN_UNREACHABLE", text: RegExp) => (error: unknown) => {
    assert.ok(isLabError(error, code), String(error));
    assert.match(error.message, text);
    assert.ok(!`${error.message}${error.hint}${JSON.stringify(error.details)}`.includes("hush"));
    return true;
  };
  await assert.rejects(ask("hush"), says("KAFKA_DENIED", /gives client lab no token: invalid_client/));
  at.fail(503);
  await assert.rejects(ask("hush"), says("TOKEN_UNREACHABLE", /answers 503/));
  at.fail(200, { hello: "world" });
  await assert.rejects(ask("hush"), says("KAFKA_DENIED", /without an access_token/));
  at.fail(302, {});
  await assert.rejects(ask("hush"), says("KAFKA_DENIED", /status 302/));
  const gone = await startTokenEndpoint({ clientSecret: SECRET, lifeSeconds: 300 });
  await gone.close();
  await assert.rejects(ask("hush", gone.url), says("TOKEN_UNREACHABLE", /ECONNREFUSED/));
});
