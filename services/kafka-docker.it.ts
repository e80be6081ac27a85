import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { silentLog } from "../core/log.ts";
import { consumeValues, kafkaTool } from "../test/support/kafka-tools.ts";
import { dockerAnswers } from "./docker.ts";
import { bringUpKafka } from "./kafka.ts";
import { removeDockerData } from "./kafka-docker.ts";

const signal = new AbortController().signal;
const skip = (await dockerAnswers(signal)) === null ? "Docker does not answer" : false;

test("a broker in Docker keeps its topics over a restart, and leaves no container", { skip }, async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "kafka-docker-"));
  t.after(async () => {
    await removeDockerData(dataDir, signal);
    await rm(dataDir, { recursive: true, force: true });
  });
  const up = () => bringUpKafka({ choice: "docker", dataDir, port: 0, log: silentLog, signal });

  const first = await up();
  assert.equal(first.rung, "docker");
  const at = first.brokers[0] as string;
  await kafkaTool("topics", at, ["--create", "--topic", "t", "--partitions", "1"]);
  await kafkaTool("producer", at, ["--topic", "t"], "one\ntwo\n");
  await first.close();

  const second = await up();
  assert.equal(await consumeValues(second.brokers[0] as string, "t", 2), "one\ntwo\n");
  await second.close();
  const { stdout } = await promisify(execFile)("docker", ["ps", "-a", "--format", "{{.Names}}"]);
  assert.doesNotMatch(stdout, /delta-stream-lab/);
});
