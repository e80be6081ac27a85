import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { sharedBroker } from "./support/kafka.ts";
import { lab } from "./support/lab.ts";
import { referee } from "./support/python.ts";

const vega = fileURLToPath(new URL("../node_modules/vega-datasets/data", import.meta.url));
const json = async (name: string) => JSON.parse(await readFile(join(vega, name), "utf8"));
const ndjson = (items: readonly unknown[]) => `${items.map((item) => JSON.stringify(item)).join("\n")}\n`;

const sets: { name: string; key: string; file: (folder: string) => Promise<string> }[] = [
  {
    name: "flights",
    key: "origin",
    file: async (folder) => save(folder, "flights.ndjson", ndjson(await json("flights-20k.json"))),
  },
  {
    name: "earthquakes",
    key: "id",
    file: async (folder) =>
      save(folder, "earthquakes.ndjson", ndjson((await json("earthquakes.json")).features)),
  },
  { name: "seattle-weather", key: "weather", file: async () => join(vega, "seattle-weather.csv") },
  { name: "github", key: "time", file: async () => join(vega, "github.csv") },
];

async function save(folder: string, name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

for (const set of sets) {
  test(`${set.name}: every message of the file is one row of the table, by a reader that is not ours`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "lab-datasets-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const kafka = ["--kafka", (await sharedBroker()).join(",")];
    const topic = `${set.name}-${randomUUID()}`;
    const file = await set.file(folder);
    const produced = await lab(["produce", "--topic", topic, "--source", file, "--key", set.key, ...kafka], {
      cwd: folder,
    });
    assert.equal(produced.status, 0, produced.stderr);
    const table = join(folder, "somewhere", set.name);
    const ingested = await lab(["ingest", "--topic", topic, "--table", table, "--once", ...kafka], {
      cwd: folder,
    });
    assert.equal(ingested.status, 0, ingested.stderr);
    assert.ok(Number(await referee("same_rows.py", [table, "{}", file])) > 0);
  });
}
