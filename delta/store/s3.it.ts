import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { ListMultipartUploadsCommand, S3Client } from "@aws-sdk/client-s3";
import { type ErrorCode, isLabError } from "../../core/errors.ts";
import { isCommit, type S3Proxy, startS3Proxy } from "../../test/support/proxy.ts";
import { s3Env, sharedS3 } from "../../test/support/s3.ts";
import { openStore } from "./open.ts";
import { probePutIfAbsent } from "./probe.ts";
import { ensureBucket, s3Store } from "./s3.ts";
import type { S3Settings } from "./s3-settings.ts";
import { listed, storeSuite } from "./store.suite.ts";
import type { Store } from "./store.ts";

const { signal } = new AbortController();
const body = new TextEncoder().encode("content");
const version0 = "_delta_log/00000000000000000000.json";
const server = await sharedS3();

/** Opens a store on a prefix of its own. */
const open = (settings: S3Settings = {}, prefix: string = randomUUID()): Promise<Store> =>
  s3Store({ ...server, ...settings, prefix }, signal);

storeSuite(
  "s3",
  async () => {
    const prefix = `a b/${randomUUID()}`;
    return () => open({}, prefix);
  },
  { runs: 15 },
);

storeSuite(
  "s3, a whole bucket",
  async () => {
    const bucket = `whole-${randomUUID()}`;
    await ensureBucket(bucket, server, signal);
    return () => s3Store({ ...server, bucket, prefix: "" }, signal);
  },
  { runs: 2 },
);

const isCode = (code: ErrorCode) => (error: unknown) => {
  assert.ok(isLabError(error, code), `expected ${code}, got ${error}`);
  assert.ok(error.hint);
  return true;
};

async function throughProxy(run: (proxy: S3Proxy) => Promise<void>): Promise<void> {
  const proxy = await startS3Proxy(server.endpoint);
  try {
    await run(proxy);
  } finally {
    await proxy.close();
  }
}

test("the server passes the probe of put-if-absent", async () => {
  const store = await open();
  await probePutIfAbsent(store, signal);
  assert.deepEqual(await listed(store), []);
});

test("a creation whose reply is lost is unclear, was done, and is not sent twice", () =>
  throughProxy(async (proxy) => {
    const store = await open({ endpoint: proxy.endpoint });
    const loss = proxy.loseReply(isCommit);
    assert.equal(await store.putIfAbsent(version0, body, signal), "unclear");
    assert.equal(loss.hit.length, 1);
    assert.equal(proxy.requests.filter(isCommit).length, 1);
    assert.deepEqual([...(await store.get(version0, signal))], [...body]);
    assert.equal(await store.putIfAbsent(version0, body, signal), "exists");
  }));

test("a creation whose request is lost is unclear, was not done, and succeeds the next time", () =>
  throughProxy(async (proxy) => {
    const store = await open({ endpoint: proxy.endpoint });
    const loss = proxy.loseRequest(isCommit);
    assert.equal(await store.putIfAbsent(version0, body, signal), "unclear");
    assert.equal(loss.hit.length, 1);
    await assert.rejects(store.get(version0, signal), isCode("OBJECT_MISSING"));
    assert.equal(await store.putIfAbsent(version0, body, signal), "created");
  }));

test("a lost reply to anything else is made good without a word", () =>
  throughProxy(async (proxy) => {
    const store = await open({ endpoint: proxy.endpoint });
    for (const method of ["PUT", "GET", "DELETE"]) proxy.loseReply((request) => request.method === method);
    await store.put("x", body, signal);
    assert.deepEqual([...(await store.get("x", signal))], [...body]);
    await store.delete("x", signal);
    assert.deepEqual(await listed(store), []);
  }));

test("a reply cut half-way is an outage, never half an object", () =>
  throughProxy(async (proxy) => {
    const store = await open({ endpoint: proxy.endpoint });
    await store.put("x", new Uint8Array(1_000_000), signal);
    const loss = proxy.halveReply((request) => request.method === "GET");
    await assert.rejects(store.get("x", signal), isCode("STORE_UNREACHABLE"));
    assert.equal(loss.hit.length, 1);
    assert.equal((await store.get("x", signal)).length, 1_000_000);
  }));

test("a server that falls silent is given up: a creation is unclear, the rest unreachable", () =>
  throughProxy(async (proxy) => {
    const store = await open({ endpoint: proxy.endpoint, idleMs: 300 });
    await store.put("x", body, signal);
    proxy.freeze();
    assert.equal(await store.putIfAbsent("y", body, signal), "unclear");
    await assert.rejects(store.get("x", signal), isCode("STORE_UNREACHABLE"));
    proxy.restore();
    assert.deepEqual([...(await store.get("x", signal))], [...body]);
  }));

test("a server that is gone is unreachable, and used again when it is back", () =>
  throughProxy(async (proxy) => {
    const store = await open({ endpoint: proxy.endpoint });
    proxy.cut();
    await assert.rejects(store.get("x", signal), isCode("STORE_UNREACHABLE"));
    await assert.rejects(listed(store), isCode("STORE_UNREACHABLE"));
    await assert.rejects(store.put("x", body, signal), isCode("STORE_UNREACHABLE"));
    assert.equal(await store.putIfAbsent("x", body, signal), "unclear");
    proxy.restore();
    assert.equal(await store.putIfAbsent("x", body, signal), "created");
  }));

test("an abort ends a call that waits for a silent server at once, with the reason", () =>
  throughProxy(async (proxy) => {
    const store = await open({ endpoint: proxy.endpoint });
    proxy.freeze();
    const reason = new Error("enough");
    for (const call of [
      (until: AbortSignal) => store.get("x", until),
      (until: AbortSignal) => store.put("x", body, until),
      (until: AbortSignal) => store.putIfAbsent("x", body, until),
      (until: AbortSignal) => listed(store, "", undefined, until),
    ]) {
      const stop = new AbortController();
      const startedAt = Date.now();
      setTimeout(() => stop.abort(reason), 50);
      await assert.rejects(call(stop.signal), (error) => error === reason);
      assert.ok(Date.now() - startedAt < 2000);
    }
  }));

test("nothing answers at the address: unreachable, with the address in the message", async () => {
  const store = await open({ endpoint: "http://127.0.0.1:1" });
  await assert.rejects(store.get("x", signal), (error) => {
    assert.match((error as Error).message, /http:\/\/127\.0\.0\.1:1/);
    return isCode("STORE_UNREACHABLE")(error);
  });
});

test("a bucket that does not exist is BUCKET_MISSING, whatever is asked", async () => {
  const store = await s3Store({ ...server, bucket: `none-${randomUUID()}`, prefix: "t" }, signal);
  await assert.rejects(store.get("x", signal), isCode("BUCKET_MISSING"));
  await assert.rejects(store.put("x", body, signal), isCode("BUCKET_MISSING"));
  await assert.rejects(store.putIfAbsent("x", body, signal), isCode("BUCKET_MISSING"));
  await assert.rejects(listed(store), isCode("BUCKET_MISSING"));
});

test("a wrong key, and a wrong secret, are STORE_DENIED", async () => {
  for (const wrong of [{ accessKeyId: "nobody" }, { secretAccessKey: "wrong-secret" }]) {
    const store = await open(wrong);
    await assert.rejects(store.get("x", signal), isCode("STORE_DENIED"));
    await assert.rejects(store.putIfAbsent("x", body, signal), isCode("STORE_DENIED"));
    await assert.rejects(listed(store), isCode("STORE_DENIED"));
    await assert.rejects(
      ensureBucket("some-bucket", { ...server, ...wrong }, signal),
      isCode("STORE_DENIED"),
    );
  }
});

test("endpoint, region and keys come from the environment, and no keys anywhere is CREDENTIALS_MISSING", async () => {
  const before = { ...process.env };
  const uri = `s3://${server.bucket}/env`;
  Object.assign(process.env, s3Env(server), {
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_CONFIG_FILE: "/nowhere/config",
    AWS_SHARED_CREDENTIALS_FILE: "/nowhere/credentials",
  });
  try {
    const store = await openStore(uri, { signal });
    await store.put("x", body, signal);
    assert.equal((await listed(store)).length, 1);
    delete process.env.AWS_ACCESS_KEY_ID;
    await assert.rejects(openStore(uri, { signal }), isCode("CREDENTIALS_MISSING"));
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
});

test("a listing longer than one page is whole and in order, from any point", async () => {
  const store = await open();
  const paths = Array.from({ length: 1100 }, (_, i) => `p/${String(i).padStart(5, "0")}`);
  for (let i = 0; i < paths.length; i += 50) {
    await Promise.all(paths.slice(i, i + 50).map((path) => store.put(path, body, signal)));
  }
  assert.deepEqual(
    (await listed(store, "p/")).map((object) => object.path),
    paths,
  );
  assert.deepEqual(
    (await listed(store, "p/", paths[49])).map((object) => object.path),
    paths.slice(50),
  );
});

test("objects that only mark a folder are not listed", async () => {
  const prefix = randomUUID();
  const store = await open({}, prefix);
  await store.put("folder/x", body, signal);
  const response = await markFolder(`${prefix}/folder/`);
  assert.equal(response, 200);
  assert.deepEqual(
    (await listed(store)).map((object) => object.path),
    ["folder/x"],
  );
});

test("an upload in parts that fails is an outage and leaves no parts behind", () =>
  throughProxy(async (proxy) => {
    const prefix = randomUUID();
    const store = await open({ endpoint: proxy.endpoint }, prefix);
    const loss = proxy.loseRequest((request) => /partNumber=2/.test(request.url), 10);
    const large = new Uint8Array(20 * 1024 * 1024);
    await assert.rejects(store.put("large", large, signal), isCode("STORE_UNREACHABLE"));
    assert.ok(loss.hit.length > 0);
    const client = sdkClient();
    const command = new ListMultipartUploadsCommand({ Bucket: server.bucket, Prefix: `${prefix}/large` });
    assert.deepEqual((await client.send(command)).Uploads ?? [], []);
    client.destroy();
    await assert.rejects(store.get("large", signal), isCode("OBJECT_MISSING"));
  }));

function sdkClient(): S3Client {
  const { accessKeyId, secretAccessKey, endpoint, region } = server;
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
}

async function markFolder(key: string): Promise<number | undefined> {
  const { PutObjectCommand } = await import("@aws-sdk/client-s3");
  const client = sdkClient();
  const answer = await client.send(new PutObjectCommand({ Bucket: server.bucket, Key: key, Body: "" }));
  client.destroy();
  return answer.$metadata.httpStatusCode;
}
