import assert from "node:assert/strict";
import { resolve } from "node:path";
import { test } from "node:test";
import { isLabError } from "../../core/errors.ts";
import { openStore } from "./open.ts";

const { signal } = new AbortController();
const keys = { accessKeyId: "k", secretAccessKey: "s" };
const root = async (uri: string) => (await openStore(uri, { signal, s3: keys, env: {} })).root;

test("each way to write a URI leads to one canonical root", async () => {
  assert.equal(await root("./lab-data/tables"), `file://${resolve("lab-data/tables")}`);
  assert.equal(await root("/data/a b/"), "file:///data/a%20b");
  assert.equal(await root("file:///data/a%20b/"), "file:///data/a%20b");
  assert.equal(await root("memory://x"), "memory://x");
  assert.equal(await root("s3://lab"), "s3://lab");
  assert.equal(await root("s3://lab/"), "s3://lab");
  assert.equal(await root("s3://lab/tables/date=2024-01-01 %/"), "s3://lab/tables/date=2024-01-01 %");
});

for (const [uri, code] of [
  ["", "USAGE"],
  ["gs://bucket/x", "USAGE"],
  ["s3://", "USAGE"],
  ["s3:///key", "USAGE"],
  ["file://host/share", "USAGE"],
  ["s3://lab/../other", "PATH_REFUSED"],
  ["s3://lab/a//b", "PATH_REFUSED"],
] as const) {
  test(`${JSON.stringify(uri)} is refused with ${code} and a way out`, async () => {
    await assert.rejects(root(uri), (error) => isLabError(error, code) && error.hint !== undefined);
  });
}

test("an endpoint that is no URL is a wrong setting", async () => {
  for (const endpoint of ["localhost:9000", "ftp://host", "http://"]) {
    const opened = openStore("s3://lab/x", { signal, s3: keys, env: { AWS_ENDPOINT_URL: endpoint } });
    await assert.rejects(opened, (error) => isLabError(error, "CONFIG_INVALID"), endpoint);
  }
});
