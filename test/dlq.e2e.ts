/** Dead letters from end to end as a user meets them, counted by a reader that is not ours. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { sharedBroker } from "./support/kafka.ts";
import { lab } from "./support/lab.ts";
import { python } from "./support/python.ts";

let folder: string;
let kafka: string[];
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "lab-dlq-"));
  kafka = ["--kafka", (await sharedBroker()).join(",")];
});
after(() => rm(folder, { recursive: true, force: true }));

const SCHEMA = {
  type: "struct",
  fields: ["id", "amount"].map((name) => ({
    name,
    type: name === "id" ? "long" : "double",
    nullable: true,
    metadata: {},
  })),
};
const FIXED = `-- what the shop sends since May
SELECT * REPLACE (CAST(replace(CAST(amount AS VARCHAR), ' EUR', '') AS DOUBLE) AS amount) FROM messages`;

/** The table's rows, its letters and their states as Python's deltalake reads them. */
const COUNT = `
import json, sys
from deltalake import DeltaTable
rows = DeltaTable(sys.argv[1]).to_pyarrow_table().to_pylist()
letters = DeltaTable(sys.argv[1] + "__dead_letters").to_pyarrow_table().to_pylist()
states = DeltaTable(sys.argv[1] + "__dead_letters_state").to_pyarrow_table().to_pylist()
place = lambda one: [one["partition"], one["offset"]]
print(json.dumps({
    "rows": sorted([r["id"], r["amount"]] for r in rows),
    "places": sorted(place(r["_kafka"]) for r in rows),
    "letters": sorted({tuple(place(l)) for l in letters}),
    "again": sum(1 for l in letters if l["attempt"] == 2),
    "states": sorted([*place(s), s["state"]] for s in states),
}))`;

async function run(args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await lab(args, { cwd: folder });
  assert.equal(status, 0, stderr);
  return stdout;
}

test("bad messages are listed, shown, replayed through another transform by two at once, dropped, and each record is there once", async () => {
  const topic = `dlq-${randomUUID()}`;
  const table = join(folder, "orders");
  const messages = Array.from({ length: 60 }, (_, id) =>
    id % 10 === 7 ? `{broken ${id}` : JSON.stringify({ id, amount: id % 3 === 0 ? `${id}.5 EUR` : id }),
  );
  const expected = Array.from({ length: 60 }, (_, id) => [id, id % 3 === 0 ? id + 0.5 : id]).filter(
    ([id]) => id! % 10 !== 7,
  );
  await writeFile(join(folder, "messages.ndjson"), `${messages.join("\n")}\n`);
  await writeFile(join(folder, "schema.json"), JSON.stringify(SCHEMA));
  await writeFile(join(folder, "fixed.sql"), FIXED);
  await run(["produce", "--topic", topic, "--source", "messages.ndjson", "--partitions", "2", ...kafka]);
  const ingest = [
    "ingest",
    "--topic",
    topic,
    "--table",
    table,
    "--schema",
    "schema.json",
    "--once",
    ...kafka,
  ];
  await run(ingest);

  const listed = JSON.parse(await run(["dlq", "list", table, "--json"]));
  assert.equal(listed.length, 24);
  const { partition, offset } = listed.find(({ code }: { code: string }) => code === "MALFORMED_JSON");
  assert.match(await run(["dlq", "show", table, `${partition}:${offset}`]), /^\{broken \d+/m);
  const replay = ["dlq", "replay", table, "--all", "--transform", "fixed.sql", "--json"];
  const results = (await Promise.all([run(replay), run(replay)])).map((text) => JSON.parse(text));
  assert.equal(results.filter(({ version }) => version !== null).length, 1);
  assert.equal(results[0].replayed + results[1].replayed, 18);
  await run(["dlq", "drop", table, "--stage", "decode"]);
  // An ingester goes on where it was, whatever was replayed.
  await run(ingest);

  const counted = JSON.parse(await python(COUNT, [table]));
  assert.deepEqual(
    counted.rows,
    expected.map(([id, amount]) => [id, amount]).sort(([a], [b]) => a! - b!),
  );
  assert.equal(new Set(counted.places.map(String)).size, 54);
  assert.equal(counted.letters.length, 24);
  // Both replays tried the broken ones, and both may have written so.
  assert.ok(counted.again === 6 || counted.again === 12, `${counted.again} second attempts`);
  const closed = new Map<string, string[]>();
  for (const [p, o, state] of counted.states)
    closed.set(`${p}:${o}`, [...(closed.get(`${p}:${o}`) ?? []), state]);
  const replayed = [...closed].filter(([, states]) => states.includes("replayed")).map(([place]) => place);
  // Rows and letters are disjoint once the replayed ones are no letters any more.
  const rows = new Set(counted.places.map(([p, o]: number[]) => `${p}:${o}`));
  const open = counted.letters
    .map(([p, o]: number[]) => `${p}:${o}`)
    .filter((place: string) => !replayed.includes(place));
  assert.equal(replayed.length, 18);
  assert.equal(open.filter((place: string) => rows.has(place)).length, 0);
  assert.equal(rows.size + open.length, 60);
  await run(["verify", table]);
});
