/** The broker and the S3 server that scenarios share: what the environment names, as under `npm test`, or some of the suite's own. */

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "../../core/log.ts";
import { ensureBucket } from "../../delta/store/s3.ts";
import { bringUpKafka } from "../../services/kafka.ts";
import { bringUpS3 } from "../../services/s3.ts";

export type ChaosS3 = { endpoint: string; bucket: string; env: Record<string, string> };
export type ChaosServices = { brokers: string[]; s3: ChaosS3; close(): Promise<void> };

export async function openServices(): Promise<ChaosServices> {
  const { signal } = new AbortController();
  const { LAB_TEST_KAFKA, LAB_TEST_S3, LAB_TEST_S3_KEY, LAB_TEST_S3_SECRET } = process.env;
  const folder = await mkdtemp(join(tmpdir(), "lab-chaos-services-"));
  const common = { log: silentLog, signal, port: 0 };
  const kafka = await bringUpKafka({
    ...common,
    choice: LAB_TEST_KAFKA ?? "jvm",
    dataDir: join(folder, "kafka"),
  });
  const s3 = LAB_TEST_S3
    ? {
        endpoint: LAB_TEST_S3,
        region: "us-east-1",
        accessKeyId: LAB_TEST_S3_KEY ?? "",
        secretAccessKey: LAB_TEST_S3_SECRET ?? "",
        close: async () => {},
      }
    : await bringUpS3({ ...common, dataDir: join(folder, "s3") });
  const { endpoint, region, accessKeyId = "", secretAccessKey = "" } = s3;
  const bucket = `chaos-${randomUUID()}`;
  await ensureBucket(bucket, { endpoint, region, accessKeyId, secretAccessKey }, signal);
  return {
    brokers: kafka.brokers,
    s3: {
      endpoint,
      bucket,
      env: {
        AWS_ENDPOINT_URL: endpoint,
        AWS_REGION: region,
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: secretAccessKey,
      },
    },
    async close() {
      await s3.close();
      await kafka.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
