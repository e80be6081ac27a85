/** `docker compose up` on a fresh clone: the lab as containers, built and run for real on images made of registry packages. */

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { silentLog } from "../core/log.ts";
import { openStore } from "../delta/store/open.ts";
import { probePutIfAbsent } from "../delta/store/probe.ts";
import { ensureBucket } from "../delta/store/s3.ts";
import { connectKafka } from "../kafka/client.ts";
import { bringUpKafka } from "../services/kafka.ts";
import { removeDockerData } from "../services/kafka-docker.ts";
import { canConnect, freePort } from "../services/ports.ts";
import { bringUpS3, removeDockerObjects } from "../services/s3.ts";
import { consumeValues, kafkaTool } from "./support/kafka-tools.ts";
import { until } from "./support/until.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const { signal } = new AbortController();

const referees = process.env.LAB_REFEREES;
if (!referees) throw new Error("LAB_REFEREES must name the folder that has standins/up");
/** A copy of our own: what is read-only there would be so in the images, too, where a broker's set-up writes over it. */
const copied = await mkdtemp(join(tmpdir(), "lab-standins-"));
const standins = join(copied, "standins");

const IMAGE = "delta-stream-lab:e2e";
const ports = { LAB_PORT: await freePort(), LAB_KAFKA_PORT: await freePort(), LAB_S3_PORT: await freePort() };
const env: NodeJS.ProcessEnv = {
  ...process.env,
  COMPOSE_PROJECT_NAME: `lab-e2e-${randomUUID().slice(0, 8)}`,
  LAB_IMAGE: IMAGE,
  ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, String(port)])),
};
const page = `http://localhost:${ports.LAB_PORT}`;

type Container = {
  Name: string;
  Service: string;
  State: string;
  Health: string;
  ExitCode: number;
};

// The cleaner of testcontainers is an image of its own, which is not among the local ones; what these tests start they stop.
process.env.TESTCONTAINERS_RYUK_DISABLED = "true";

let startedEngine = false;

before(async () => {
  startedEngine = !(await answers());
  await run("cp", ["-R", join(referees, "standins"), copied]);
  await run("chmod", ["-R", "u+w", copied]);
  await shown(join(standins, "up"), []);
  const { stdout } = await run("docker", ["compose", "config", "--quiet"], { cwd: root, env });
  assert.equal(stdout, "", "every variable has a default");
  await shown("docker", ["compose", "up", "--detach", "--build", "--wait", "--wait-timeout", "600"]);
});

after(async () => {
  const logs = await compose("logs", "--no-color", "--tail", "40").catch(String);
  process.stderr.write(logs);
  await shown("docker", ["compose", "down", "--volumes", "--timeout", "15"]);
  await run("docker", ["image", "rm", IMAGE], { env }).catch(() => {});
  if (startedEngine) await shown(join(standins, "down"), []);
  await rm(copied, { recursive: true, force: true });
});

test("every service is healthy, and the one-shot jobs are done", async () => {
  const all = await containers();
  const jobs = all.filter(({ Service }) => ["init", "topics"].includes(Service));
  const services = all.filter((one) => !jobs.includes(one));
  assert.deepEqual(services.map(({ Service }) => Service).sort(), [
    "dashboard",
    "ingester",
    "kafka",
    "minio",
    "orders-producer",
    "producer",
  ]);
  for (const one of services) assert.equal(`${one.State}, ${one.Health}`, "running, healthy", one.Service);
  assert.equal(jobs.length, 2);
  for (const one of jobs) assert.equal(`${one.State}, ${one.ExitCode}`, "exited, 0", one.Service);
});

for (const table of ["my_topic", "orders"]) {
  test(`rows of ${table} appear and grow, each message once`, async () => {
    const first = await until(`rows in ${table}`, () => counted(table).then(({ rows }) => rows > 0 && rows), {
      deadlineMs: 120_000,
    });
    const now = await until(
      `more rows in ${table}`,
      () => counted(table).then((next) => next.rows > first && next),
      { deadlineMs: 60_000 },
    );
    assert.equal(now.rows, now.distinct);
  });
}

test("the page is served, on this machine's loopback only, and so are broker and store", async () => {
  const reply = await fetch(page);
  assert.equal(reply.status, 200);
  assert.match(await reply.text(), /<html/i);
  const outside = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ family, internal }) => family === "IPv4" && !internal);
  for (const port of Object.values(ports)) {
    assert.equal(await canConnect("127.0.0.1", port, 1000, signal), true);
    for (const { address } of outside) {
      assert.equal(await canConnect(address, port, 1000, signal), false, `${address}:${port}`);
    }
  }
});

test("broker and store are usable from this machine at the published ports", async () => {
  const kafka = connectKafka({
    brokers: [`localhost:${ports.LAB_KAFKA_PORT}`],
    clientId: "compose-test",
    connectTimeoutMs: 10_000,
  });
  const admin = await kafka.admin();
  try {
    const ends = [...(await admin.watermarks("orders")).values()].map(({ high }) => high);
    assert.ok(ends.length === 3 && ends.some((end) => end > 0n), `ends ${ends}`);
  } finally {
    await admin.close();
  }
  const store = await openStore("s3://lab/tables/orders", {
    signal,
    s3: {
      endpoint: `http://localhost:${ports.LAB_S3_PORT}`,
      accessKeyId: "lab",
      secretAccessKey: "lab-secret-key",
    },
  });
  const version0 = await store.get("_delta_log/00000000000000000000.json", signal);
  assert.match(new TextDecoder().decode(version0), /"metaData"/);
  await store.close();
});

test("all of it is limited to less than 2 GB, and nothing has run into its limit or crashed", async () => {
  const running = (await containers()).filter(({ State }) => State === "running");
  const { stdout } = await run("docker", ["inspect", ...running.map(({ Name }) => Name)]);
  const inspected = JSON.parse(stdout) as {
    Name: string;
    RestartCount: number;
    State: { OOMKilled: boolean };
    HostConfig: { Memory: number };
  }[];
  for (const { Name, RestartCount, State, HostConfig } of inspected) {
    assert.ok(HostConfig.Memory > 0, `${Name} has no limit`);
    assert.equal(State.OOMKilled, false, Name);
    assert.equal(RestartCount, 0, Name);
  }
  const sum = inspected.reduce((total, { HostConfig }) => total + HostConfig.Memory, 0);
  assert.ok(sum < 2_000_000_000, `limits add up to ${sum} bytes`);
});

test("the lab's own processes are node, run by an ordinary user, with no packages for development", async () => {
  for (const service of ["producer", "orders-producer", "ingester", "dashboard"]) {
    const inside = (...command: string[]) => compose("exec", "--no-TTY", service, ...command);
    assert.notEqual((await inside("id", "-u")).trim(), "0", service);
    assert.match(await inside("cat", "/proc/1/cmdline"), /node/);
  }
  await assert.rejects(compose("exec", "--no-TTY", "ingester", "ls", "/app/node_modules/typescript"));
});

test("after everything was killed, `up` heals: nothing is lost or doubled, and rows go on", async () => {
  const before = await counted("orders");
  await compose("kill");
  await shown("docker", ["compose", "up", "--detach", "--wait", "--wait-timeout", "600"]);
  const now = await until(
    "more rows than before the kill",
    () => counted("orders").then((next) => next.rows > before.rows && next),
    { deadlineMs: 120_000 },
  );
  assert.equal(now.rows, now.distinct);
  const gaps = await query(
    "SELECT count(*) FROM (SELECT _kafka.partition, max(_kafka.offset) - min(_kafka.offset) + 1 - count(*) AS missing FROM orders GROUP BY 1) WHERE missing > 0",
  );
  assert.equal(Number(gaps[0]?.[0]), 0);
});

test("without its settings nothing can be broken from the page; with them the page kills and freezes the ingester, and nothing is lost", async () => {
  type Run = { isOver: boolean; verdict: string | null; lines: { text: string }[] };
  const seen = async () => {
    const reply = await fetch(`${page}/api/chaos?table=orders`);
    return (await reply.json()) as {
      isOn: boolean;
      faults: { name: string; refusal: string | null }[];
      runs: Run[];
    };
  };
  const cause = (name: string, token: string) =>
    fetch(`${page}/api/chaos/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-lab-token": token },
      body: JSON.stringify({ table: "orders" }),
    });
  assert.equal((await seen()).isOn, false);

  const pageToken = randomUUID();
  const chaos = { LAB_CHAOS: "1", LAB_CHAOS_TOKEN: randomUUID(), LAB_PAGE_TOKEN: pageToken };
  await shown("docker", ["compose", "up", "--detach", "--wait", "--wait-timeout", "600"], chaos);
  const { faults } = await until(
    "an ingester to break",
    () => seen().then((now) => now.faults.find(({ name }) => name === "freeze")?.refusal === null && now),
    { deadlineMs: 120_000 },
  );
  const refused = faults.find(({ name }) => name === "stop-broker")?.refusal;
  assert.match(refused ?? "", /docker compose stop/);
  assert.equal((await cause("freeze", "a guess")).status, 403);

  for (const [name, shows] of [
    ["kill-after-commit", /is back as pid/],
    ["freeze", /does not answer/],
  ] as const) {
    const reply = await cause(name, pageToken);
    assert.equal(reply.status, 200, await reply.text());
    const run = await until(`${name} is over`, () => seen().then(({ runs: [run] }) => run?.isOver && run), {
      deadlineMs: 240_000,
    });
    const told = run.lines.map(({ text }) => text).join("\n");
    assert.match(told, shows);
    assert.equal(run.verdict, "whole", told);
  }
  const now = await counted("orders");
  assert.equal(now.rows, now.distinct);
});

test("the ingester stops in order when it is told to", async () => {
  await compose("stop", "ingester");
  const [stopped] = (await containers()).filter(({ Service }) => Service === "ingester");
  assert.equal(stopped?.ExitCode, 0);
});

test("the ladder's Docker rung: a broker keeps its topics over a restart, and leaves no container", async (t) => {
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
  const { stdout } = await run("docker", ["ps", "-a", "--format", "{{.Names}}"]);
  assert.doesNotMatch(stdout, /delta-stream-lab-kafka/);
});

test("the ladder's Docker rung: an S3 server whose put-if-absent holds, gone when it is closed", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "s3-docker-"));
  t.after(async () => {
    await removeDockerObjects(dataDir, signal);
    await rm(dataDir, { recursive: true, force: true });
  });
  const server = await bringUpS3({ dataDir, port: 0, log: silentLog, signal, rungs: ["docker"] });
  assert.equal(server.rung, "docker");
  await ensureBucket("lab", server, signal);
  const store = await openStore("s3://lab/t", { signal, s3: server });
  await probePutIfAbsent(store, signal);
  await store.close();
  await server.close();
  assert.equal(await canConnect("127.0.0.1", Number(new URL(server.endpoint).port), 1000, signal), false);
});

async function counted(table: string): Promise<{ rows: number; distinct: number }> {
  const [row] = await query(
    `SELECT count(*), count(DISTINCT (_kafka.partition, _kafka.offset)) FROM ${table}`,
  );
  return { rows: Number(row?.[0]), distinct: Number(row?.[1]) };
}

async function query(sql: string): Promise<unknown[][]> {
  const reply = await fetch(`${page}/api/query`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
  const answer = await reply.text();
  assert.equal(reply.status, 200, answer);
  return (JSON.parse(answer) as { rows: unknown[][] }).rows;
}

async function compose(...args: string[]): Promise<string> {
  const { stdout } = await run("docker", ["compose", ...args], {
    cwd: root,
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

async function containers(): Promise<Container[]> {
  const text = await compose("ps", "--all", "--format", "json");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Container);
}

/** Runs a command whose progress is of interest in a log; rejects unless it exits with 0. */
async function shown(command: string, args: string[], more: NodeJS.ProcessEnv = {}): Promise<void> {
  const child = spawn(command, args, { cwd: root, env: { ...env, ...more }, stdio: ["ignore", 2, 2] });
  const status = await new Promise((resolve) => child.once("close", resolve));
  assert.equal(status, 0, `${command} ${args.join(" ")}`);
}

async function answers(): Promise<boolean> {
  return run("docker", ["version"], { env }).then(
    () => true,
    () => false,
  );
}
