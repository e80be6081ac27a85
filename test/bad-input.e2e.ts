/** What a user can get wrong: each is one line with a code and a way out, on stderr, and no stack trace. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { sharedBroker } from "./support/kafka.ts";
import { lab } from "./support/lab.ts";
import { python } from "./support/python.ts";
import { s3Env, sharedS3 } from "./support/s3.ts";

let folder: string;
let kafka: string[];
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lab-bad-"));
  kafka = ["--kafka", (await sharedBroker()).join(",")];
});
after(() => rm(folder, { recursive: true, force: true }));

async function refuses(
  args: readonly string[],
  expected: { code: string; status: number; says?: RegExp },
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<void> {
  const { status, stdout, stderr } = await lab(args, { cwd: folder, ...options });
  assert.match(stderr, new RegExp(`^error: .*\\(${expected.code}\\)$`, "m"), stderr);
  assert.match(stderr, /^ {2}fix: ./m, stderr);
  assert.doesNotMatch(stderr, /\n\s+at /, "no stack trace");
  assert.equal(status, expected.status, stderr);
  assert.equal(stdout, "", "nothing on stdout");
  if (expected.says) assert.match(stderr, expected.says);
}

const topicOf = (name: string) => `bad-${name}-${randomUUID()}`;
const ingest = (topic: string, ...more: string[]) => [
  "ingest",
  "--topic",
  topic,
  "--table",
  join(folder, topic),
  "--once",
  ...kafka,
  ...more,
];

test("a wrong flag, command or value suggests the near one", async () => {
  await refuses(["ingest", "--tpoic", "x"], { code: "USAGE", status: 2, says: /--topic/ });
  await refuses(["histroy", "orders"], { code: "USAGE", status: 2, says: /history/ });
  await refuses(["produce", "--topic", "x", "--rate", "fast"], { code: "USAGE", status: 2, says: /fast/ });
});

test("a wrong key in lab.yaml is named with its line", async () => {
  const cwd = join(folder, "yaml");
  await mkdir(cwd);
  await writeFile(join(cwd, "lab.yaml"), "streams:\n  - topic: orders\n    fromat: json\n");
  await refuses(["ingest"], { code: "CONFIG_INVALID", status: 2, says: /lab\.yaml:3.*fromat/ }, { cwd });
});

test("an unreachable broker and a missing topic", async () => {
  const away = ["--kafka", "127.0.0.1:1", "--connect-timeout", "1s"];
  await refuses(["ingest", "--topic", "x", "--table", join(folder, "x"), ...away], {
    code: "BROKER_UNREACHABLE",
    status: 1,
  });
  await refuses(["produce", "--topic", "x", ...away], { code: "BROKER_UNREACHABLE", status: 1 });
  await refuses(ingest(topicOf("missing")), { code: "TOPIC_MISSING", status: 2, says: /fix:.*produce/ });
});

test("a setting of changes that fits no message is told with the names that there are, and once it is right all of them are merged", async () => {
  const topic = topicOf("changes");
  const changes = ["c", "u"].map((op, n) => JSON.stringify({ op, row: { id: 1, name: `n${n}` }, seq: n }));
  await lab(["produce", "--topic", topic, "--source", "-", "--partitions", "1", ...kafka], {
    input: `${changes.join("\n")}\n`,
  });
  const merge = (...more: string[]) => [
    ...["merge", "--topic", topic, "--table", join(folder, topic), "--once", "--cdc-format", "plain"],
    ...[...kafka, ...more],
  ];
  await refuses(merge("--cdc-key", "person"), {
    ...{ code: "CONFIG_INVALID", status: 2, says: /person .*rows have id, name[\s\S]*fix: cdc\.key/ },
  });
  await refuses(merge("--cdc-key", "id", "--cdc-position", "at"), {
    ...{
      code: "CONFIG_INVALID",
      status: 2,
      says: /messages have op, row\.id, row\.name, seq[\s\S]*cdc\.position/,
    },
  });
  const right = await lab(merge("--cdc-key", "id", "--cdc-position", "seq", "--json"), { cwd: folder });
  assert.equal(right.status, 0, right.stderr);
  const { streams } = JSON.parse(right.stdout) as { streams: { totals: object }[] };
  assert.deepEqual(
    streams
      .map(({ totals }) => totals)
      .map(({ rows, letters }: { rows?: number; letters?: number }) => [rows, letters]),
    [[2, 0]],
  );
});

test("no credentials, wrong ones, and a missing bucket", async () => {
  const s3 = await sharedS3();
  const topic = topicOf("s3");
  await lab(["produce", "--topic", topic, "--source", "orders", "--count", "3", ...kafka]);
  const to = (bucket: string) => [
    "ingest",
    "--topic",
    topic,
    "--table",
    `s3://${bucket}/t`,
    "--once",
    "--connect-timeout",
    "5s",
    ...kafka,
  ];
  const none = {
    AWS_ACCESS_KEY_ID: "",
    AWS_SECRET_ACCESS_KEY: "",
    AWS_PROFILE: "",
    AWS_EC2_METADATA_DISABLED: "true",
    HOME: folder,
  };
  await refuses(
    to(s3.bucket),
    { code: "CREDENTIALS_MISSING", status: 2 },
    { env: { AWS_ENDPOINT_URL: s3.endpoint, ...none } },
  );
  await refuses(
    to(s3.bucket),
    { code: "STORE_DENIED", status: 2 },
    { env: { ...s3Env(s3), AWS_SECRET_ACCESS_KEY: "wrong" } },
  );
  await refuses(to(`no-${randomUUID()}`), { code: "BUCKET_MISSING", status: 2 }, { env: s3Env(s3) });
});

test("a folder that is no table, a version that does not exist, SQL with an error", async () => {
  const topic = topicOf("query");
  await lab(["produce", "--topic", topic, "--source", "orders", "--count", "3", ...kafka]);
  assert.equal((await lab(ingest(topic), { cwd: folder })).status, 0);
  const table = join(folder, topic);
  await mkdir(join(folder, "plain"));
  await refuses(["history", join(folder, "plain")], { code: "NOT_A_TABLE", status: 2 });
  await refuses(["show", table, "--version", "99"], { code: "VERSION_NOT_FOUND", status: 2, says: /99/ });
  const named = ["--table", `t=${table}`];
  await refuses(["query", "SELECT * FROM t AT (VERSION => 99)", ...named], {
    code: "VERSION_NOT_FOUND",
    status: 2,
  });
  await refuses(["query", "SELEKT 1", ...named], { code: "SQL_ERROR", status: 1 });
  await refuses(["query", "SELECT nope FROM t", ...named], { code: "SQL_ERROR", status: 1, says: /nope/ });
  await refuses(["query", "SELECT 1 FROM orderz", ...named], { code: "TABLE_NOT_FOUND", status: 2 });
});

test("a port that is taken is named", async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  await refuses(["up", "--port", String(port), ...kafka], {
    code: "PORT_TAKEN",
    status: 1,
    says: new RegExp(String(port)),
  });
});

test("broken JSON, null, nothing, and a message of 10 MB: rows or letters, and nothing lost", async () => {
  const topic = topicOf("messages");
  const file = join(folder, "messages.ndjson");
  const big = JSON.stringify({ id: 3, text: "x".repeat(10_000_000) });
  await writeFile(file, `{"id":1,"text":"good"}\n{broken\n[1]\n"text"\n${big}\n{"id":4}\n`);
  const produced = await lab(["produce", "--topic", topic, "--source", file, ...kafka], { cwd: folder });
  assert.equal(produced.status, 0, produced.stderr);
  const ingested = await lab(ingest(topic), { cwd: folder });
  assert.equal(ingested.status, 0, ingested.stderr);
  const script = `
import json, os, sys
from deltalake import DeltaTable
rows = DeltaTable(sys.argv[1]).to_pyarrow_table().to_pylist()
letters = DeltaTable(sys.argv[1] + "__dead_letters").to_pyarrow_table().to_pylist()
print(json.dumps([sorted([r["id"], len(r["text"] or "")] for r in rows), sorted([l["value"].decode(), l["stage"]] for l in letters)]))
sys.stdout.flush()
os._exit(0)`;
  assert.deepEqual(JSON.parse(await python(script, [join(folder, topic)])), [
    [
      [1, 4],
      [3, 10_000_000],
      [4, 0],
    ],
    [
      ['"text"', "decode"],
      ["[1]", "decode"],
      ["{broken", "decode"],
    ],
  ]);
});
