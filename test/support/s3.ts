/** A real S3 server for tests: the one that LAB_TEST_S3 names, or one of this file's own, with a fresh bucket. */

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { silentLog } from "../../core/log.ts";
import { ensureBucket } from "../../delta/store/s3.ts";
import { bringUpS3 } from "../../services/s3.ts";

export type TestS3 = {
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Empty when the file's tests begin. */
  bucket: string;
};

const { signal } = new AbortController();
let shared: Promise<TestS3> | undefined;
let closeShared = async () => {};
// Here, outside of any test: a hook that is set inside one runs when that one ends.
after(() => closeShared());

/** The server that the tests of this file share; one that was started for them is closed after them. */
export async function sharedS3(): Promise<TestS3> {
  shared ??= (async () => {
    const server = given() ?? (await start());
    const bucket = `test-${randomUUID()}`;
    await ensureBucket(bucket, server, signal);
    return { ...server, bucket };
  })();
  return shared;
}

/** What a process needs in its environment to use the server, by way of `endpoint` if a proxy stands before it. */
export function s3Env(server: TestS3, endpoint = server.endpoint): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: server.region,
    AWS_ACCESS_KEY_ID: server.accessKeyId,
    AWS_SECRET_ACCESS_KEY: server.secretAccessKey,
  };
}

/** The same for Python's deltalake, which refuses plain HTTP unless told. */
export function s3StorageOptions(server: TestS3): Record<string, string> {
  return { ...s3Env(server), AWS_ALLOW_HTTP: "true" };
}

function given(): Omit<TestS3, "bucket"> | undefined {
  const { LAB_TEST_S3, LAB_TEST_S3_KEY, LAB_TEST_S3_SECRET } = process.env;
  if (!LAB_TEST_S3 || !LAB_TEST_S3_KEY || !LAB_TEST_S3_SECRET) return undefined;
  return {
    endpoint: LAB_TEST_S3,
    region: "us-east-1",
    accessKeyId: LAB_TEST_S3_KEY,
    secretAccessKey: LAB_TEST_S3_SECRET,
  };
}

async function start(): Promise<Omit<TestS3, "bucket">> {
  const dataDir = await mkdtemp(join(tmpdir(), "lab-s3-"));
  const service = await bringUpS3({ dataDir, port: 0, log: silentLog, signal });
  closeShared = async () => {
    await service.close();
    await rm(dataDir, { recursive: true, force: true });
  };
  const { endpoint, region, accessKeyId = "", secretAccessKey = "" } = service;
  return { endpoint, region, accessKeyId, secretAccessKey };
}
