import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { openEngine } from "./instance.ts";
import { numberChunks } from "./number-chunks.ts";

const signal = new AbortController().signal;
const settings = { memoryLimitBytes: 2 ** 28, threads: 1, tempDir: null, preserveOrder: true };

test("columns of whole numbers come in chunks, in the order of the rows", async (t) => {
  const engine = await openEngine(settings);
  t.after(() => engine.close());
  const [firsts, seconds]: bigint[][] = [[], []];
  for await (const { rows, columns } of numberChunks(
    engine,
    "SELECT range AS a, -range * 4611686018427 AS b FROM range(5000)",
    signal,
  )) {
    assert.equal(columns[0]!.length, rows);
    firsts!.push(...columns[0]!);
    seconds!.push(...columns[1]!);
  }
  assert.deepEqual(
    firsts,
    Array.from({ length: 5000 }, (_, i) => BigInt(i)),
  );
  assert.deepEqual(
    seconds,
    Array.from({ length: 5000 }, (_, i) => -BigInt(i) * 4611686018427n),
  );
});

test("a column of another type, and a statement that fails, are errors", async (t) => {
  const engine = await openEngine(settings);
  t.after(() => engine.close());
  const read = async (sql: string) => {
    for await (const _ of numberChunks(engine, sql, signal));
  };
  await assert.rejects(read("SELECT 1.5::DOUBLE"), (error) => isLabError(error, "INTERNAL"));
  await assert.rejects(
    read("SELECT CAST(x AS BIGINT) FROM (VALUES ('1'), ('a')) AS v(x)"),
    /Conversion Error/,
  );
});
