import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { isLabError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { brokerProperties, propertiesText } from "./broker-properties.ts";
import { findJava, javaMajor } from "./java.ts";
import { bringUpKafka } from "./kafka.ts";
import { imageVariable } from "./kafka-docker.ts";
import { bringUpS3 } from "./s3.ts";

const signal = new AbortController().signal;

test("without Docker, Java or an address the error names the three ways", async (t) => {
  const path = process.env.PATH;
  const home = process.env.JAVA_HOME;
  process.env.PATH = "/nowhere";
  delete process.env.JAVA_HOME;
  t.after(() => {
    process.env.PATH = path;
    if (home !== undefined) process.env.JAVA_HOME = home;
  });
  await assert.rejects(
    bringUpKafka({ choice: "auto", dataDir: "/nowhere", port: 0, log: silentLog, signal }),
    (error) => {
      assert.ok(isLabError(error, "SERVICE_UNAVAILABLE"));
      assert.equal(error.message, "there is no Kafka broker: Docker does not answer; Java does not run");
      assert.match(error.hint ?? "", /--kafka HOST:PORT.*Docker.*Java 17 or later and Maven/);
      return true;
    },
  );
});

test("services at addresses that others run end, for whoever waits, when they are closed", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const common = { dataDir: "/nowhere", port: 0, log: silentLog, signal };
  for (const service of [
    await bringUpKafka({ ...common, choice: address }),
    await bringUpS3({ ...common, endpoint: `http://${address}` }),
  ]) {
    let hasEnded = false;
    void service.exited.then(() => {
      hasEnded = true;
    });
    await setImmediate();
    assert.equal(hasEnded, false);
    await service.close();
    await service.exited;
  }
});

test("versions of Java are read in the old and the new form", async () => {
  assert.deepEqual(["17.0.15", "1.8.0_402", "25-ea", "21"].map(javaMajor), [17, 8, 25, 21]);
  assert.equal(
    await findJava(signal, { JAVA_HOME: "/nowhere" }).then((java) => java?.command ?? "java"),
    "java",
  );
});

test("the broker listens on loopback only, and settings can be laid over", () => {
  const properties = brokerProperties({
    port: 1234,
    controllerPort: 5678,
    logDir: "/data",
    config: { "log.retention.ms": "1000" },
  });
  assert.equal(properties.listeners, "PLAINTEXT://127.0.0.1:1234,CONTROLLER://127.0.0.1:5678");
  assert.equal(properties["advertised.listeners"], "PLAINTEXT://127.0.0.1:1234");
  assert.equal(properties["log.retention.ms"], "1000");
  assert.equal(propertiesText({ a: "C:\\x", b: "1" }), "a=C:\\\\x\nb=1\n");
  assert.equal(imageVariable("log.retention.ms"), "KAFKA_LOG_RETENTION_MS");
});
