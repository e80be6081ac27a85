import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { isLabError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { startBroker } from "../test/support/kafka.ts";
import { consumeValues, kafkaTool } from "../test/support/kafka-tools.ts";
import { bringUpKafka } from "./kafka.ts";
import { freePort } from "./ports.ts";
import { isAlive } from "./process-identity.ts";

const run = promisify(execFile);
const signal = new AbortController().signal;

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "kafka-jvm-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

test("a broker that is killed comes up again on the same port with the same records", async (t) => {
  const broker = await startBroker(t);
  const address = broker.brokers[0] as string;
  await kafkaTool("topics", address, ["--create", "--topic", "t", "--partitions", "1"]);
  await kafkaTool("producer", address, ["--topic", "t"], "one\ntwo\n");
  const first = broker.pid();
  await broker.kill();
  await broker.restart();
  assert.notEqual(broker.pid(), first);
  assert.equal(await consumeValues(address, "t", 2), "one\ntwo\n");
  await broker.restart();
  assert.equal(await consumeValues(address, "t", 2), "one\ntwo\n");
});

test("a misspelt topic is not made by using it", async (t) => {
  const broker = await startBroker(t);
  const address = broker.brokers[0] as string;
  const produce = ["--producer-property", "max.block.ms=1500", "--topic", "nosuch"];
  await kafkaTool("producer", address, produce, "x\n").catch(() => {});
  assert.doesNotMatch(await kafkaTool("topics", address, ["--list"]), /nosuch/);
});

test("kill -9 of the starter leaves no broker, and the next start heals", async (t) => {
  const dataDir = await folder(t);
  const script = `
    import { bringUpKafka } from ${JSON.stringify(new URL("./kafka.ts", import.meta.url).href)};
    import { silentLog } from ${JSON.stringify(new URL("../core/log.ts", import.meta.url).href)};
    const signal = new AbortController().signal;
    const kafka = await bringUpKafka({ choice: "jvm", dataDir: ${JSON.stringify(dataDir)}, port: 0, log: silentLog, signal });
    console.log(kafka.pid);
    setInterval(() => {}, 1000);`;
  const args = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", script];
  const starter = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [printed] = (await once(starter.stdout, "data")) as [Buffer];
  const pid = Number(printed.toString());
  starter.kill("SIGKILL");
  await once(starter, "exit");

  // At once: the orphan is still ending, and the new broker waits for it.
  const kafka = await bringUpKafka({ choice: "jvm", dataDir, port: 0, log: silentLog, signal });
  t.after(() => kafka.close());
  const deadline = Date.now() + 10_000;
  while (isAlive(pid)) {
    assert.ok(Date.now() < deadline, `broker ${pid} outlived its starter`);
    await delay(50);
  }
  assert.ok(kafka.pid !== null && isAlive(kafka.pid));
});

test("a second broker on the same data is refused while the first one's starter lives", async (t) => {
  const dataDir = await folder(t);
  await writeFile(
    join(dataDir, "service.json"),
    JSON.stringify({ pid: process.pid, startedBy: process.ppid }),
  );
  // This very process stands in for the broker: its command line names the folder.
  const title = process.title;
  process.title = `broker on ${dataDir}`;
  t.after(() => {
    process.title = title;
  });
  await assert.rejects(
    bringUpKafka({ choice: "jvm", dataDir, port: 0, log: silentLog, signal }),
    (error) => isLabError(error, "LAB_RUNNING") && error.message.includes(String(process.ppid)),
  );
});

test("a port that is taken is named with its holder", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await assert.rejects(
    bringUpKafka({ choice: "jvm", dataDir: await folder(t), port, log: silentLog, signal }),
    (error) =>
      isLabError(error, "PORT_TAKEN") &&
      error.message.includes(`${port}`) &&
      error.message.includes(`${process.pid}`),
  );
});

test("a port that is taken after the look is PORT_TAKEN too", async (t) => {
  const dataDir = await folder(t);
  const port = await freePort();
  const starting = bringUpKafka({ choice: "jvm", dataDir, port, log: silentLog, signal });
  setTimeout(() => {
    const rival = createServer().listen(port, "127.0.0.1");
    t.after(() => rival.close());
  }, 300);
  await assert.rejects(starting, (error) => isLabError(error, "PORT_TAKEN"));
});

test("a broker that cannot start shows the end of its log", async (t) => {
  const config = { "log.retention.hours": "many" };
  await assert.rejects(
    bringUpKafka({ choice: "jvm", dataDir: await folder(t), port: 0, log: silentLog, signal, config }),
    (error) =>
      isLabError(error, "SERVICE_FAILED") && JSON.stringify(error.details).includes("log.retention.hours"),
  );
});

test("a start that is given up ends the broker", async (t) => {
  const controller = new AbortController();
  const dataDir = await folder(t);
  const starting = bringUpKafka({
    choice: "jvm",
    dataDir,
    port: 0,
    log: silentLog,
    signal: controller.signal,
  });
  setTimeout(() => controller.abort(new Error("enough")), 1500);
  await assert.rejects(starting, /enough/);
  const { stdout } = await run("ps", ["-eo", "args="]);
  assert.ok(!stdout.includes(dataDir));
});
