import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { twinTables } from "../columnar/parquet-tables.fixture.ts";
import { EXAMPLE, exampleRow } from "../columnar/parquet-values.fixture.ts";
import { startSpark } from "./support/spark.ts";

/** So that rows can be compared by their text: it has every value, nested ones too, but binaries, which it has as text. */
const TEXT = "CAST(struct(*) AS STRING)";

test("Spark reads the same from our Parquet as from DuckDB's, in batches of columns and row by row, and filters it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "lab-spark-columnar-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const rows = Array.from({ length: 2500 }, (_, i) => exampleRow(i));
  const { ours, duckDb } = await twinTables(folder, EXAMPLE, rows, { groupRows: 1100, pageRows: 300 });
  const spark = await startSpark(t, ours.path);
  const unlike = `SELECT count(*) AS n FROM ((SELECT ${TEXT} AS r FROM {t}) EXCEPT ALL (SELECT ${TEXT} AS r FROM delta.\`${duckDb.path}\`))`;
  const ask = async (sql: string) => (await spark({ sql })) as Record<string, unknown>[];
  for (const isVectorized of [true, false]) {
    await ask(`SET spark.sql.parquet.enableVectorizedReader = ${isVectorized}`);
    assert.deepEqual(await ask("SELECT count(*) AS n FROM {t}"), [{ n: 2500 }]);
    assert.deepEqual(await ask(unlike), [{ n: 0 }], `vectorized: ${isVectorized}`);
    assert.deepEqual(
      await ask("SELECT sum(id) AS s, sum(hash(bin, map.k.x, far, text)) IS NOT NULL AS h FROM {t}"),
      [{ s: (2499 * 2500) / 2, h: true }],
    );
    const condition = "near >= 40000000 AND word = 'größe 5' AND d38 < 0";
    const expected = rows.filter(
      ({ near, word, d38 }) => (near as bigint) >= 40_000_000n && word === "größe 5" && (d38 as bigint) < 0n,
    );
    assert.ok(expected.length > 0);
    assert.deepEqual(await ask(`SELECT count(*) AS n FROM {t} WHERE ${condition}`), [{ n: expected.length }]);
  }
});
