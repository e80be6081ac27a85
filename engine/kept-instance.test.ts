import assert from "node:assert/strict";
import { after, test } from "node:test";
import { type Engine, type Instance, openInstance } from "./instance.ts";
import { keepInstance } from "./kept-instance.ts";
import { stream } from "./result.ts";

const signal = new AbortController().signal;
let opened = 0;
const open = () => {
  opened++;
  return openInstance({ memoryLimitBytes: 200_000_000, threads: 2, tempDir: null, keepsFiles: false });
};
const kept = keepInstance(open);
after(() => kept.close());

async function value(engine: Engine, sql: string): Promise<unknown> {
  return (await engine.rows(`SELECT (${sql}) AS value`, { signal }))[0]!.value;
}

async function using<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await kept.session();
  try {
    return await work(engine);
  } finally {
    engine.close();
  }
}

test("one DuckDB serves all, and views, tables, variables and settings stay with who made them", async () => {
  await using(async (one) => {
    await one.run("CREATE TEMP VIEW t AS SELECT 1 AS x; CREATE TEMP TABLE u AS SELECT 2 AS x");
    await one.run("SET VARIABLE v = 3; SET TimeZone = 'Asia/Tokyo'; SET default_order = 'DESC'");
    await using(async (other) => {
      await assert.rejects(other.run("FROM t"), /does not exist/);
      await assert.rejects(other.run("FROM u"), /does not exist/);
      assert.equal(await value(other, "getvariable('v')"), null);
      assert.equal(await value(other, "current_setting('TimeZone')"), "UTC");
      await other.run("CREATE TEMP VIEW t AS SELECT 10 AS x");
      assert.equal(await value(other, "SELECT x FROM t"), 10);
    });
    assert.equal(await value(one, "SELECT x FROM t"), 1);
    assert.equal(await value(one, "getvariable('v')"), 3);
  });
  await using(async (next) => {
    await assert.rejects(next.run("FROM t"), /does not exist/);
    assert.equal(await value(next, "current_setting('TimeZone')"), "UTC");
  });
  assert.equal(opened, 1);
});

test("a statement that fails, is interrupted or runs out of memory harms nobody else", async () => {
  const long = "SELECT count(*) FROM range(10000000000) a, range(1000) b";
  await using(async (neighbour) => {
    await neighbour.run("CREATE TEMP TABLE mine AS SELECT 7 AS x");
    await using((engine) => assert.rejects(engine.run("SELECT error('no')"), /no/));
    await using((engine) =>
      assert.rejects(engine.run(long, { signal: AbortSignal.timeout(100) }), /timeout/),
    );
    const tooMuch = "CREATE TEMP TABLE big AS SELECT md5(range::VARCHAR) FROM range(100000000)";
    await using((engine) => assert.rejects(engine.run(tooMuch), /Out of Memory/i));
    assert.equal(await value(neighbour, "SELECT x FROM mine"), 7);
  });
  assert.equal(await using((engine) => value(engine, "42")), 42);
  assert.equal(opened, 1);
});

test("what a statement holds is freed with its engine, also where its result was left before the end", async () => {
  const used = () =>
    using((engine) => value(engine, "SELECT sum(memory_usage_bytes)::DOUBLE FROM duckdb_memory()"));
  const sorted = "SELECT md5(range::VARCHAR) AS h FROM range(500000) ORDER BY h";
  for (let round = 0; round < 3; round++) {
    await using(async (engine) => {
      const { chunks } = await stream(engine, sorted, signal);
      for await (const rows of chunks) {
        assert.ok(rows.length > 0);
        assert.ok(Number(await used()) > 10_000_000);
        break;
      }
    });
    assert.ok(Number(await used()) < 2_000_000, `${await used()} bytes are held`);
  }
});

test("an engine that is released serves the next, one that is closed does not, and none after something failed", async () => {
  const connectionOf = (end: (engine: Engine) => void) =>
    kept.session().then((engine) => {
      end(engine);
      // What its first user does with it later is no matter of the next one.
      engine.close();
      return engine.connection;
    });
  const released = await connectionOf((engine) => engine.release());
  const [again, other] = [await kept.session(), await kept.session()];
  assert.equal(again.connection, released);
  assert.notEqual(other.connection, released);
  assert.equal(await value(again, "1 + 1"), 2);
  other.close();
  again.close();
  assert.notEqual(await connectionOf((engine) => engine.release()), released);
  const kind = await connectionOf((engine) => engine.release());
  kept.doubt();
  assert.notEqual(await connectionOf((engine) => engine.release()), kind);
});

test("a statement with one text for a parameter stays prepared, and can be asked again after it failed", async () => {
  await using(async (engine) => {
    for (const text of ["a", "b'", "é\u{1F600}"])
      assert.equal(await engine.ask("SELECT 'is ' || $1::VARCHAR", text, { signal }), `is ${text}`);
    await assert.rejects(engine.ask("SELECT error($1::VARCHAR)", "no", { signal }), /no/);
    await assert.rejects(engine.ask("SELECT nothing($1)", "no", { signal }), /does not exist/);
    await assert.rejects(engine.ask("SELECT NULL || $1::VARCHAR", "no", { signal }), /gives no text/);
    assert.equal(await engine.ask("SELECT 'is ' || $1::VARCHAR", "c", { signal }), "is c");
  });
});

test("one that can no longer be used is replaced, once for all who ask", async () => {
  let isBroken = false;
  const closed: number[] = [];
  let made = 0;
  const engine = {} as Engine;
  const fragile = keepInstance(async (): Promise<Instance> => {
    const number = made++;
    return {
      async session() {
        if (isBroken && number === 0) throw new Error("invalidated");
        return engine;
      },
      close: () => closed.push(number),
    };
  });
  await fragile.session();
  isBroken = true;
  await Promise.all([fragile.session(), fragile.session(), fragile.session()]);
  assert.equal(made, 2);
  assert.deepEqual(closed, [0]);
  fragile.close();
  await Promise.resolve();
  assert.deepEqual(closed, [0, 1]);
});
