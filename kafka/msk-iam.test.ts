/** The form of the tokens alone: none of this was tried against AWS. */

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { mskIam } from "./msk-iam.ts";

const keys = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();

/** The clock of the process, which the signing library reads. */
function clockAt(t: TestContext, time: string): void {
  t.mock.timers.enable({ apis: ["Date"], now: Date.parse(time) });
}

test("a token is a presigned URL that lets connect to the region's clusters, signed as AWS says", async (t) => {
  clockAt(t, "2026-11-29T20:15:03Z");
  const token = await mskIam({ region: "eu-central-1", credentials: async () => keys })();
  assert.match(token, /^[\w-]+$/);
  const url = new URL(Buffer.from(token, "base64url").toString());
  assert.equal(`${url.protocol}//${url.host}${url.pathname}`, "https://kafka.eu-central-1.amazonaws.com/");
  const query = Object.fromEntries(url.searchParams);
  assert.equal(query.Action, "kafka-cluster:Connect");
  assert.equal(query["X-Amz-Date"], "20261129T201503Z");
  assert.equal(query["X-Amz-Expires"], "900");
  assert.equal(query["X-Amz-Credential"], "AKIDEXAMPLE/20261129/eu-central-1/kafka-cluster/aws4_request");
  assert.match(query["User-Agent"] ?? "", /^aws-msk-iam-sasl-signer-js/);

  const { "X-Amz-Signature": signature, "User-Agent": _, ...signed } = query;
  const encoded = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const canonicalQuery = Object.entries(signed)
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");
  const canonical = ["GET", "/", canonicalQuery, `host:${url.host}`, "", "host", sha256("")].join("\n");
  const scope = "20261129/eu-central-1/kafka-cluster/aws4_request";
  const toSign = ["AWS4-HMAC-SHA256", "20261129T201503Z", scope, sha256(canonical)].join("\n");
  const key = scope.split("/").reduce<string | Buffer>(hmac, `AWS4${keys.secretAccessKey}`);
  assert.equal(signature, hmac(key, toSign).toString("hex"));
});

test("a token is kept for less than its 15 minutes, and ends with the credentials it was signed with", async (t) => {
  clockAt(t, "2026-11-29T20:00:00Z");
  let asked = 0;
  const credentials = async () => {
    asked += 1;
    return { ...keys, sessionToken: "session", expiration: new Date("2026-11-29T20:10:00Z") };
  };
  const token = mskIam({ region: "us-east-1", credentials });
  const url = new URL(Buffer.from(await token(), "base64url").toString());
  assert.equal(url.searchParams.get("X-Amz-Expires"), "600");
  assert.equal(url.searchParams.get("X-Amz-Security-Token"), "session");
  t.mock.timers.setTime(Date.parse("2026-11-29T20:08:59Z"));
  await token();
  assert.equal(asked, 1);
  t.mock.timers.setTime(Date.parse("2026-11-29T20:09:00Z"));
  await token();
  assert.equal(asked, 2);
});

test("without credentials it says so, and how to give some", async () => {
  const none = async () => {
    throw new Error("Could not load credentials from any providers");
  };
  await assert.rejects(mskIam({ region: "us-east-1", credentials: none })(), (error) => {
    assert.ok(isLabError(error, "CREDENTIALS_MISSING"));
    return error.hint?.includes("AWS_PROFILE") === true;
  });
});
