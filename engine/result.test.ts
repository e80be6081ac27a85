import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine } from "./instance.ts";
import { stream } from "./result.ts";

const signal = new AbortController().signal;

test("a statement that fails after rows were handed on says so, and never ends as if that were all", async (t) => {
  const engine = await openEngine({
    memoryLimitBytes: 500_000_000,
    threads: 2,
    tempDir: null,
    preserveOrder: true,
  });
  t.after(() => engine.close());
  const sql =
    "SELECT CASE WHEN range = 3000000 THEN error('the row at fault') ELSE range END FROM range(10000000)";
  for (const options of [{}, { selectOnly: true }]) {
    const { chunks } = await stream(engine, sql, signal, options);
    let rows = 0;
    await assert.rejects(async () => {
      for await (const chunk of chunks) rows += chunk.length;
    }, /the row at fault/);
    assert.ok(rows > 0 && rows < 3_000_000, `${rows} rows came first`);
  }
  const { chunks } = await stream(engine, "SELECT range FROM range(100000)", signal);
  let rows = 0;
  for await (const chunk of chunks) rows += chunk.length;
  assert.equal(rows, 100_000, "the engine goes on");
});
