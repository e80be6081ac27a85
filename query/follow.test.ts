import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Add } from "../delta/actions.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import { type FollowOptions, follow } from "./follow.ts";
import { openQuery } from "./query.ts";

async function setUp(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "follow-"));
  const query = openQuery({ store: folder });
  t.after(async () => {
    await query.close();
    await rm(folder, { recursive: true });
  });
  const events: string[] = [];
  const stop = new AbortController();
  let wake = () => {};
  const options = (more: Partial<FollowOptions> = {}): FollowOptions => ({
    pollMs: 10,
    signal: stop.signal,
    async onColumns(columns) {
      events.push(`columns ${columns.map(({ name }) => name)}`);
      wake();
    },
    async onBatch({ version, chunks }) {
      const rows: unknown[] = [];
      for await (const chunk of chunks) rows.push(...chunk.map((row) => String(row)));
      events.push(`${version}: ${rows.join(" ")}`);
      wake();
    },
    onRewrite(version) {
      events.push(`rewrite ${version}`);
      wake();
    },
    ...more,
  });
  return {
    folder,
    context: query.context,
    options,
    events,
    stop,
    async until(count: number) {
      const late = AbortSignal.timeout(10_000);
      while (events.length < count) {
        late.throwIfAborted();
        await new Promise<void>((resolve) => {
          wake = resolve;
          late.addEventListener("abort", () => resolve(), { once: true });
        });
      }
      return events;
    },
  };
}

test("rows are given as they are committed, each version once, through the query", async (t) => {
  const { folder, context, options, stop, until } = await setUp(t);
  const { append } = await sqlTable(join(folder, "t"), { id: "long" });
  await append({ select: "SELECT 1::BIGINT AS id" });
  const following = follow(context, "SELECT id * 10 AS ten FROM t WHERE id <> 3", options());
  await until(1);
  await append({ select: "SELECT 2::BIGINT AS id" });
  await until(2);
  await append({ select: "SELECT unnest([3, 4])::BIGINT AS id" });
  assert.deepEqual(await until(3), ["columns ten", "2: 20", "3: 40"]);
  stop.abort(new Error("Ctrl+C"));
  await following;
});

test("from a version on, what came after it is given first; rewrites are told, not given", async (t) => {
  const { folder, context, options, stop, until } = await setUp(t);
  const { append } = await sqlTable(join(folder, "t"), { id: "long" });
  const first = await append({ select: "SELECT 1::BIGINT AS id" });
  await append({ select: "SELECT 2::BIGINT AS id" });
  await append({ select: "SELECT 9::BIGINT AS id", removes: [first as Add] });
  await append({ columns: { id: "long", note: "string" } });
  await append({ select: "SELECT 5::BIGINT AS id, 'n' AS note" });
  const following = follow(context, "FROM t", options({ after: { version: 1 } }));
  assert.deepEqual(await until(4), ["columns id", "2: 2,", "rewrite 3", "5: 5,n"]);
  stop.abort(new Error("Ctrl+C"));
  await following;
});

test("what cannot be followed is refused at once", async (t) => {
  const { folder, context, options } = await setUp(t);
  await sqlTable(join(folder, "t"), { id: "long" });
  await sqlTable(join(folder, "u"), { id: "long" });
  const cases: [string, string][] = [
    ["SELECT * FROM t, u", "USAGE"],
    ["SELECT * FROM t AT (VERSION => 0)", "USAGE"],
    ["SELECT 1", "USAGE"],
    ["SELECT nope FROM t", "SQL_ERROR"],
    ["SELECT * FROM missing", "TABLE_NOT_FOUND"],
  ];
  for (const [sql, code] of cases) {
    await assert.rejects(
      follow(context, sql, options()),
      (error) => isLabError(error) && error.code === code,
      sql,
    );
  }
});
