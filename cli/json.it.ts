/** `--json` on every command: one document on stdout, and nothing else there. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { sharedBroker } from "../test/support/kafka.ts";
import { lab, startLab } from "../test/support/lab.ts";
import { COMMANDS } from "./commands.ts";

let cwd: string;
let kafka: string[];
const topic = `json-${randomUUID()}`;
before(async () => {
  cwd = await mkdtemp(join(tmpdir(), "lab-json-"));
  kafka = ["--kafka", (await sharedBroker()).join(",")];
  const good = Array.from({ length: 20 }, (_, id) => `{"id":${id},"amount":${id}.5}\n`).join("");
  await writeFile(join(cwd, "messages.ndjson"), good);
});
after(() => rm(cwd, { recursive: true, force: true }));

/** In an order in which each finds what it needs; a command that is not here is told below. */
const WALK: [
  command: keyof typeof COMMANDS,
  args: (kafka: string[]) => string[],
  isFine: (found: never) => boolean,
][] = [
  ["doctor", (kafka) => ["--port", "0", ...kafka], (found: unknown[]) => found.length >= 6],
  ["status", () => [], (found: { running: boolean }) => !found.running],
  ["down", () => [], (found: { stopped: null }) => found.stopped === null],
  [
    "produce",
    (kafka) => ["--topic", topic, "--source", "messages.ndjson", ...kafka],
    (found: { acked: { total: string } }) => found.acked.total === "20",
  ],
  [
    "ingest",
    (kafka) => ["--topic", topic, "--table", "t", "--once", ...kafka],
    (found: { streams: { totals: { rows: number } }[] }) => found.streams[0]?.totals.rows === 20,
  ],
  [
    "merge",
    (kafka) => [
      ...["--topic", topic, "--table", "keyed", "--once", "--cdc-format", "plain", "--cdc-key", "id"],
      ...["--cdc-row", ".", ...kafka],
    ],
    (found: { streams: { totals: { rows: number } }[] }) => found.streams[0]?.totals.rows === 20,
  ],
  ["tables", () => [], (found: { name: string }[]) => found.some(({ name }) => name === "t")],
  ["query", () => ["SELECT count(*) AS n FROM t"], (found: { n: string }[]) => found[0]?.n === "20"],
  ["history", () => ["t"], (found: { version: number }[]) => found.length >= 1],
  ["show", () => ["t"], (found: object) => "schema" in found],
  [
    "update",
    () => ["t", "--set", "amount=0", "--where", "id = 3"],
    (found: { updated: string }) => found.updated === "1",
  ],
  ["delete", () => ["t", "--where", "id = 3"], (found: { deleted: string }) => found.deleted === "1"],
  [
    "overwrite",
    () => ["t", "--select", "FROM current", "--all"],
    (found: { version: string | number | null }) => found.version !== null,
  ],
  ["optimize", () => ["t"], (found: object) => "filesAdded" in found],
  ["checkpoint", () => ["t"], (found: object) => "version" in found],
  ["diff", () => ["t", "0", "1"], (found: { rowsAdded: string }) => "rowsAdded" in found],
  ["vacuum", () => ["t", "--dry-run"], (found: { dryRun: boolean }) => found.dryRun],
  ["cleanup", () => ["t"], (found: object) => typeof found === "object"],
  ["verify", () => ["t"], (found: { damage: { count: number } }) => found.damage.count === 0],
  ["restore", () => ["t", "--version", "1"], (found: object) => typeof found === "object"],
  ["completion", () => ["bash"], (found: { script: string }) => found.script.includes("complete")],
  [
    "up",
    (kafka) => ["--only", "kafka", "--for", "100ms", ...kafka],
    (found: { parts: { name: string }[] }) => found.parts[0]?.name === "kafka",
  ],
  ["reset", () => ["--yes"], (found: { deleted: string[] }) => found.deleted.length > 0],
];

test("every command prints one JSON document, which holds what it found", { timeout: 600_000 }, async (t) => {
  for (const [command, args, isFine] of WALK) {
    await t.test(`lab ${command} --json`, async () => {
      const { status, stdout, stderr } = await lab([command, ...args(kafka), "--json"], { cwd });
      assert.equal(status, 0, stderr);
      const found = JSON.parse(stdout) as never;
      assert.ok(isFine(found), stdout);
    });
  }
});

test("lab dashboard --json tells its address, also where nobody looks", async (t) => {
  const run = startLab(["dashboard", "--port", "0", ...kafka, "--json"], { cwd });
  t.after(() => run.child.kill("SIGKILL"));
  await run.printed(/^\}$/m);
  const { address } = JSON.parse(run.stdout()) as { address: string };
  assert.equal((await fetch(address)).status, 200);
  run.child.kill("SIGTERM");
  assert.equal((await run.ended).status, 0);
});

test("lab batch answers a line with a line", async () => {
  const input = '{"id":1,"op":"query","sql":"SELECT 1 AS n"}\n';
  const { status, stdout } = await lab(["batch", "--json"], { cwd, input });
  assert.equal(status, 0);
  assert.deepEqual(JSON.parse(stdout).rows, [[1]]);
});

test("help and version are documents, too", async () => {
  const document = async (...args: string[]) => JSON.parse((await lab([...args, "--json"], { cwd })).stdout);
  assert.ok((await document("help")).commands.length > 15);
  assert.match((await document("--version")).version, /^\d+\.\d+\.\d+$/);
  const { options } = await document("help", "ingest");
  const latency = options.find(({ flag }: { flag: string }) => flag === "--flush-latency");
  assert.deepEqual(
    [latency.env, latency.yaml, latency.default],
    ["LAB_FLUSH_LATENCY", "streams[].flush.latency", "2s"],
  );
});

test("what is wrong is one document on stderr with code, message and way out", async () => {
  const wrong = [
    ["dlq", "list", "nowhere"],
    ["bench", "nothing"],
    ["replay", "nowhere"],
    ["audit", "nothing"],
    ["query", "SELEC"],
    ["quer"],
  ];
  for (const args of wrong) {
    const { status, stdout, stderr } = await lab([...args, "--json"], { cwd });
    assert.ok(status !== 0, args.join(" "));
    assert.equal(stdout, "");
    const { code, message } = JSON.parse(stderr) as { code: string; message: string };
    assert.ok(/^[A-Z_]+$/.test(code) && message !== "", stderr);
  }
});

test("no command was forgotten here", () => {
  const walked = [
    ...WALK.map(([command]) => command),
    "dashboard",
    "batch",
    "dlq",
    "bench",
    "replay",
    "audit",
  ];
  assert.deepEqual(
    Object.keys(COMMANDS).filter((name) => !walked.includes(name)),
    [],
  );
});
