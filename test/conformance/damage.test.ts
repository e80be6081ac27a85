/** Damaged copies of the referees' tables: each gives the same rows as before, or says by a code what is wrong. */

import assert from "node:assert/strict";
import { cp, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { ERRORS } from "../../core/errors.ts";
import { digestOf, startBatch } from "./batch.ts";
import { byTable, type Truth, unpackTables } from "./tables.ts";
import { mayRefuse } from "./verdict.ts";

/** Larger tables take long to copy and show nothing more. */
const MOST_BYTES = 3_000_000;
const SAMPLE = 40;
/** Its checkpoint holds a column that its commits do not know: which rows are right depends on what is read. */
const CONTRADICTORY = /parquet_row_group_skipping$/;
const seed = Number(process.env.LAB_SEED ?? 1);

/** Pseudo-random numbers in [0, 1): mulberry32. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const random = randomFrom(seed);
const anyOf = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];

type Files = { all: string[] };
/** What is damaged, as text, or undefined where the table has nothing of the kind. */
type Damage = (folder: string, files: Files, truth: Truth) => Promise<string | undefined>;

const COMMIT = /\/\d{20}\.json$/;
const CHECKPOINT = /\.checkpoint\..*(parquet|json)$|\/_sidecars\/.*\.parquet$/;

/** Does something to one file that matches. */
function toOne(pattern: RegExp, change: (path: string) => Promise<void>): Damage {
  return async (folder, { all }) => {
    const path = anyOf(all.filter((file) => pattern.test(file)));
    if (path !== undefined) await change(join(folder, path));
    return path;
  };
}

const withLine = (line: string) => async (path: string) => {
  const text = await readFile(path, "utf8");
  await writeFile(path, `${text.endsWith("\n") ? text : `${text}\n`}${line}\n`);
};

const halved = async (path: string) => truncate(path, Math.floor((await stat(path)).size / 2));
const lineCut = async (path: string) => {
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  const last = lines.pop()!;
  await writeFile(path, [...lines, last.slice(0, Math.ceil(last.length / 2))].join("\n"));
};
const byteFlipped = async (path: string) => {
  const bytes = await readFile(path);
  const at = Math.floor(random() * bytes.length);
  bytes[at] = bytes[at]! ^ (1 << Math.floor(random() * 8));
  await writeFile(path, bytes);
};
const written = (name: string, text: string): Damage => {
  return async (folder, _, truth) => {
    const path = name.replace("NEXT", String(truth.version + 1).padStart(20, "0"));
    await writeFile(join(folder, path), text);
    return path;
  };
};

/** Damages that must not change a single row. */
const harmless: Record<string, Damage> = {
  "an unknown action": toOne(COMMIT, withLine('{"futureAction":{"path":"x","deep":[1,{"y":null}]}}')),
  "an unknown field": toOne(COMMIT, withLine('{"txn":{"appId":"damage","version":1,"future":{"a":1}}}')),
  "an empty line": toOne(COMMIT, withLine("\n  ")),
  "no _last_checkpoint": toOne(/\/_last_checkpoint$/, (path) => rm(path)),
  "_last_checkpoint to nowhere": written("_delta_log/_last_checkpoint", '{"version":999999,"size":1}'),
  "_last_checkpoint to a version without a checkpoint": written(
    "_delta_log/_last_checkpoint",
    '{"version":0,"size":1,"parts":7}',
  ),
  "_last_checkpoint of no sense": written("_delta_log/_last_checkpoint", '{"version":"x"'),
  "an empty next commit": written("_delta_log/NEXT.json", ""),
  "an empty next checkpoint": written("_delta_log/NEXT.checkpoint.parquet", ""),
  "a file of a writer that died": written("_delta_log/.NEXT.json.1234.tmp", '{"add":'),
};

/** Damages that may make the version unreadable, but never other. */
const harmful: Record<string, Damage> = {
  "a damaged next checkpoint": written("_delta_log/NEXT.checkpoint.parquet", "PAR1damagedPAR1"),
  "a commit deleted": toOne(COMMIT, (path) => rm(path)),
  "a commit empty": toOne(COMMIT, (path) => truncate(path, 0)),
  "a line cut": toOne(COMMIT, lineCut),
  "a line that is no action": toOne(COMMIT, withLine('{"add":{"path":1}}')),
  "a checkpoint deleted": toOne(CHECKPOINT, (path) => rm(path)),
  "a checkpoint empty": toOne(CHECKPOINT, (path) => truncate(path, 0)),
  "a checkpoint cut": toOne(CHECKPOINT, halved),
  "a byte of a vector flipped": toOne(/\.bin$/, byteFlipped),
  "a vector cut": toOne(/\.bin$/, halved),
  "a data file deleted": toOne(/^(?!_delta_log).*\.parquet$/, (path) => rm(path)),
  "a data file empty": toOne(/^(?!_delta_log).*\.parquet$/, (path) => truncate(path, 0)),
  "a data file cut": toOne(/^(?!_delta_log).*\.parquet$/, halved),
};

const { folder, truths, close } = await unpackTables();
const batch = startBatch();
const counts = new Map<string, { same: number; refused: number }>();

after(async () => {
  await batch.close();
  await close();
  const lines = [...counts].map(
    ([what, { same, refused }]) =>
      `${what.padEnd(54)}${String(same).padStart(6)}${String(refused).padStart(9)}`,
  );
  console.log([`${`damage (seed ${seed})`.padEnd(54)}  same  refused`, ...lines].join("\n"));
});

for (const [table, truth] of await sample()) {
  test(`${table} v${truth.version}, damaged`, async () => {
    const files = await filesOf(join(folder, table));
    for (const [what, damage] of Object.entries(harmless))
      await check(table, truth, files, what, damage, true);
    for (const [what, damage] of Object.entries(harmful))
      await check(table, truth, files, what, damage, false);
  });
}

async function check(
  table: string,
  truth: Truth,
  files: Files,
  what: string,
  damage: Damage,
  mustBeSame: boolean,
): Promise<void> {
  const copy = join(folder, "damaged");
  await cp(join(folder, table), copy, { recursive: true, preserveTimestamps: true });
  try {
    const where = await damage(copy, files, truth);
    if (where === undefined) return;
    // A damage that does no harm does none to the newest version either, whichever that is taken for.
    const point = mustBeSame ? {} : { version: truth.version };
    const answer = await batch.ask({ op: "rows", table: copy, ...point });
    const { code = "", message = "" } = answer;
    const story = `${what}: ${where}: ${code} ${message}`;
    assert.ok(answer.ok || (code in ERRORS && code !== "INTERNAL"), story);
    const count = counts.get(what) ?? { same: 0, refused: 0 };
    counts.set(what, count);
    if (answer.ok) {
      count.same++;
      assert.equal(digestOf(answer.rows!), truth.content_sha256, `other rows: ${story}`);
    } else {
      count.refused++;
      assert.ok(!mustBeSame, story);
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Newest versions that can be read, of small tables: all that have vectors or checkpoints, and some of the others. */
async function sample(): Promise<[string, Truth][]> {
  const rich: [string, Truth][] = [];
  const plain: [string, Truth][] = [];
  for (const [table, versions] of byTable(truths)) {
    const truth = versions.at(-1)!;
    if (truth.status !== "ok" || !truth.is_latest || mayRefuse(truth) || CONTRADICTORY.test(table)) continue;
    const { all, bytes } = await filesOf(join(folder, table));
    if (bytes > MOST_BYTES) continue;
    (all.some((file) => CHECKPOINT.test(file) || file.endsWith(".bin")) ? rich : plain).push([table, truth]);
  }
  const shuffled = (items: [string, Truth][]) =>
    items
      .map((item) => ({ item, at: random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  const first = shuffled(rich).slice(0, (SAMPLE * 2) / 3);
  return [...first, ...shuffled(plain).slice(0, SAMPLE - first.length)];
}

async function filesOf(table: string): Promise<Files & { bytes: number }> {
  const all: string[] = [];
  let bytes = 0;
  for (const path of (await readdir(table, { recursive: true })).sort()) {
    const info = await stat(join(table, path));
    if (!info.isFile()) continue;
    all.push(path);
    bytes += info.size;
  }
  return { all, bytes };
}
