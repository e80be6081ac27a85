import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sharedBroker } from "./support/kafka.ts";
import { lab, startLab } from "./support/lab.ts";
import { referee } from "./support/python.ts";
import { spark } from "./support/spark.ts";
import { until } from "./support/until.ts";

type Read = { version: number; schema: unknown; rows: string[] };
const parse = (text: string): Read[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Read);

const COUNTRIES = ["DE", "A b", "50%/x", "Ünïcode", "", null];

test("Spark and deltalake read a table with partitions, a checkpoint and an added column alike, version by version", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-spark-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const kafka = ["--kafka", (await sharedBroker()).join(",")];
  const topic = `spark-${randomUUID()}`;
  const table = join(folder, "orders");
  const produce = async (from: number, to: number, more: (id: number) => object) => {
    const lines = Array.from({ length: to - from }, (_, n) => {
      const id = from + n;
      return JSON.stringify({ id, country: COUNTRIES[id % COUNTRIES.length], amount: id / 4, ...more(id) });
    });
    const file = join(folder, `${from}.ndjson`);
    await writeFile(file, `${lines.join("\n")}\n`);
    const { status, stderr } = await lab([
      "produce",
      "--topic",
      topic,
      "--source",
      file,
      "--rate",
      "200/s",
      ...kafka,
    ]);
    assert.equal(status, 0, stderr);
  };
  await produce(0, 10, () => ({}));
  const args = [
    "--topic",
    topic,
    "--table",
    table,
    "--partition-by",
    "country",
    "--flush-latency",
    "150ms",
    ...kafka,
  ];
  const ingester = startLab(["ingest", ...args]);
  t.after(() => ingester.child.kill("SIGKILL"));
  await ingester.printed(/"committed"/);
  await produce(10, 800, () => ({}));
  await produce(800, 1000, (id) => ({ note: `n${id}` }));
  const expressions = ["id", "country", "amount", "note", "_kafka.partition", "_kafka.offset"];
  const newest = async () => {
    const { stdout } = await lab(["history", table, "--json"]);
    return (JSON.parse(stdout) as { version: number }[])[0]?.version ?? 0;
  };
  await until(
    "all rows by deltalake",
    async () => {
      const version = await newest();
      const [read] = parse(await referee("lines.py", [table, JSON.stringify(["id"]), String(version)]));
      return read?.rows.length === 1000;
    },
    { everyMs: 1000 },
  );
  ingester.child.kill("SIGTERM");
  assert.equal((await ingester.ended).status, 0, ingester.stderr().slice(-2000));

  const last = await newest();
  assert.ok(last > 12, `${last} versions are too few to reach a checkpoint`);
  assert.ok((await readdir(join(table, "_delta_log"))).some((name) => name.endsWith(".checkpoint.parquet")));
  const versions = [last, last - 1].map(String);
  const asked = [table, JSON.stringify(expressions), ...versions];
  const [bySpark, byDeltalake] = [
    parse(await spark("read.py", asked)),
    parse(await referee("lines.py", asked)),
  ];
  assert.deepEqual(bySpark, byDeltalake);
  assert.equal(bySpark[0]?.rows.length, 1000);
  const ids = new Set(bySpark[0]?.rows.map((line) => Number(line.split("\t")[0])));
  assert.equal(ids.size, 1000);

  const early = Math.floor(last / 3);
  const before = [table, JSON.stringify(expressions.filter((name) => name !== "note")), String(early)];
  assert.deepEqual(parse(await spark("read.py", before)), parse(await referee("lines.py", before)));
});
