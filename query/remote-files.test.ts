import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { memoryStore } from "../delta/store/memory.ts";
import type { Store } from "../delta/store/store.ts";
import type { Table } from "../delta/table.ts";
import { sqlTable } from "../test/support/sql-table.ts";
import type { Catalog } from "./catalog.ts";
import { openQuery, type Query } from "./query.ts";
import { answer } from "./run.ts";

const signal = new AbortController().signal;
const fetched: string[] = [];
let folder: string;
let query: Query;
let catalog: Catalog;

/** Days 1 to 4 of two files each; file number n holds the ids 10n to 10n + 9. The store is no folder, so files are fetched to be read. */
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "remote-"));
  const store = watched(memoryStore());
  const made = await sqlTable(store, { id: "long", day: "integer" }, { partitionColumns: ["day"] });
  for (let file = 0; file < 8; file++) {
    const first = file * 10;
    await made.append({
      select: `SELECT id FROM range(${first}, ${first + 10}) AS r(id)`,
      partitionValues: { day: String(1 + Math.floor(file / 2)) },
      stats: { minValues: { id: first }, maxValues: { id: first + 9 }, nullCount: { id: 0 } },
    });
  }
  catalog = catalogOf(made.table);
  query = openQuery({ store: "memory://none", cache: { folder, maxBytes: 1e9 } });
});

after(async () => {
  await query.close();
  await rm(folder, { recursive: true });
});

test("a query fetches the files that its condition leaves, each once, and no others", async () => {
  assert.deepEqual(await ask("SELECT count(*) FROM t WHERE day = 2"), {
    rows: [["20"]],
    read: 2,
    fetched: 2,
  });
  assert.deepEqual(await ask("SELECT sum(id) FROM t WHERE id BETWEEN 55 AND 56"), {
    rows: [["111"]],
    read: 1,
    fetched: 1,
  });
  assert.deepEqual(await ask("SELECT max(id) FROM t WHERE day = 2 AND id < 100"), {
    rows: [["39"]],
    read: 2,
    fetched: 0,
  });
  assert.deepEqual(await ask("SELECT count(*) FROM t WHERE day > 4"), { rows: [["0"]], read: 0, fetched: 0 });
  assert.deepEqual(await ask("SELECT count(*) FROM t"), { rows: [["80"]], read: 8, fetched: 5 });
});

async function ask(sql: string): Promise<{ rows: unknown; read: number; fetched: number }> {
  fetched.length = 0;
  const limits = { maxRows: 10, maxBytes: 1e6, signal };
  const { rows, files } = await answer({ ...query.context, catalog }, sql, limits);
  assert.equal(files.total, 8);
  assert.equal(new Set(fetched).size, fetched.length, "no file twice");
  return { rows, read: files.read, fetched: fetched.length };
}

function watched(store: Store): Store {
  const note = (path: string) => {
    if (path.endsWith(".parquet") && !path.startsWith("_delta_log/")) fetched.push(path);
  };
  return {
    ...store,
    get(path, asked) {
      note(path);
      return store.get(path, asked);
    },
    getRange(path, start, length, asked) {
      note(path);
      return store.getRange(path, start, length, asked);
    },
  };
}

function catalogOf(table: Table): Catalog {
  const open = async () => ({ name: "t", table });
  return {
    root: table.store.root,
    open,
    openAny: open,
    find: open,
    names: async () => ["t"],
    uriOf: () => table.store.root,
    close: async () => {},
  };
}
