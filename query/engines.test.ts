import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { sqlTable } from "../test/support/sql-table.ts";
import { type Engines, openEngines } from "./engines.ts";
import { openQuery } from "./query.ts";
import { answer } from "./run.ts";

const signal = new AbortController().signal;
const LIMITS = { memoryLimitBytes: 500_000_000, threads: 1, tempDir: null };

/** A table `t` of `files` files, and a way to ask it where footers of two are kept. */
async function tableOf(t: TestContext, files: number) {
  const folder = await mkdtemp(join(tmpdir(), "engines-"));
  const query = openQuery({ store: folder });
  const engines = openEngines(LIMITS, { mostFooters: 2 });
  t.after(async () => {
    engines.close();
    await query.close();
    await rm(folder, { recursive: true });
  });
  const { append } = await sqlTable(
    join(folder, "t"),
    { id: "long", p: "long" },
    { partitionColumns: ["p"] },
  );
  for (let p = 0; p < files; p++)
    await append({ select: `SELECT ${p + 1}::BIGINT AS id`, partitionValues: { p: String(p) } });
  const sum = async (where: string) => {
    const limits = { maxRows: 10, maxBytes: 1e6, signal };
    const found = await answer(
      { ...query.context, engines },
      `SELECT sum(id)::VARCHAR FROM t WHERE ${where}`,
      limits,
    );
    return found.rows[0]![0];
  };
  return { engines, sum };
}

/** Bytes that the DuckDB which reads now has of footers. */
async function footerBytes(engines: Engines): Promise<number> {
  const engine = await engines.open({ kind: "read" });
  try {
    const [row] = await engine.rows(
      "SELECT sum(memory_usage_bytes)::DOUBLE AS bytes FROM duckdb_memory() WHERE tag = 'OBJECT_CACHE'",
    );
    return Number(row!.bytes);
  } finally {
    engine.release();
  }
}

test("footers of files are kept, and let go when there are too many of them", async (t) => {
  const { engines, sum } = await tableOf(t, 4);
  assert.equal(await sum("p = 0"), "1");
  const one = await footerBytes(engines);
  assert.ok(one > 0);
  assert.equal(await sum("p = 0"), "1");
  assert.equal(await footerBytes(engines), one);
  assert.equal(await sum("p = 1"), "2");
  assert.ok((await footerBytes(engines)) > one);
  assert.equal(await sum("p = 2"), "3");
  assert.equal(await footerBytes(engines), 0);
  assert.equal(await sum("p = 3"), "4");
  const again = await footerBytes(engines);
  assert.ok(again > 0 && again < 2 * one);
});

test("a statement that reads more files than footers are kept of leaves none", async (t) => {
  const { engines, sum } = await tableOf(t, 3);
  assert.equal(await sum("p >= 0"), "6");
  assert.equal(await footerBytes(engines), 0);
});
