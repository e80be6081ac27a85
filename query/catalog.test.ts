import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { createTable } from "../delta/create.ts";
import { openStore } from "../delta/store/open.ts";
import { until } from "../test/support/until.ts";
import { openCatalog } from "./catalog.ts";

const { signal } = new AbortController();

async function lake(t: TestContext, ...tables: string[]) {
  const root = await mkdtemp(join(tmpdir(), "catalog-"));
  const catalog = openCatalog({ root });
  t.after(async () => {
    await catalog.close();
    await rm(root, { recursive: true });
  });
  const make = async (name: string, column = "id") => {
    const store = await openStore(join(root, name), { signal });
    const fields = [{ name: column, type: "long", nullable: true, metadata: {} } as const];
    await createTable(store, { schema: { type: "struct", fields } }, signal);
    await store.close();
  };
  for (const name of tables) await make(name);
  return { root, catalog, make };
}

test("tables are the folders that hold a log, and no others", async (t) => {
  const { root, catalog } = await lake(t, "b", "a", "with space", "50%", "ä");
  await mkdir(join(root, "empty", "_delta_log"), { recursive: true });
  await mkdir(join(root, "data"));
  await writeFile(join(root, "data", "part-0.parquet"), "x");
  await writeFile(join(root, "file"), "x");
  assert.deepEqual(await catalog.names(signal), ["50%", "a", "b", "with space", "ä"]);
  for (const name of ["a", "b"]) assert.equal((await catalog.open(name, signal)).name, name);
  assert.deepEqual(await catalog.names(signal), ["50%", "a", "b", "with space", "ä"]);
});

test("a table can be looked for without an error where there is none, by its exact name", async (t) => {
  const { catalog, make } = await lake(t, "orders");
  assert.equal((await catalog.find("orders", signal))?.name, "orders");
  for (const name of ["Orders", "order", "", "..", "orders/_delta_log"])
    assert.equal(await catalog.find(name, signal), undefined, name);
  assert.equal((await catalog.open("ORDERS", signal)).name, "orders");
  await assert.rejects(catalog.open("ordes", signal), (error) => {
    assert.ok(isLabError(error, "TABLE_NOT_FOUND"));
    return /did you mean orders/.test(error.hint ?? "");
  });
  await make("later");
  assert.equal((await catalog.find("later", signal))?.name, "later");
});

test("an open table that is removed is named no longer, and one made anew in its place is the new one", async (t) => {
  const { root, catalog, make } = await lake(t, "a", "b");
  const columnOf = async (name: string) => {
    const snapshot = await (await catalog.open(name, signal)).table.latest(signal);
    return snapshot.schema.fields[0]!.name;
  };
  for (const name of ["a", "b"]) assert.equal(await columnOf(name), "id");
  await rename(join(root, "a"), join(root, "moved"));
  await until("a is gone", async () => (await catalog.names(signal)).join() === "b,moved");
  await rm(join(root, "b"), { recursive: true });
  await make("b", "other");
  await until("the new b", async () => (await columnOf("b")) === "other");
  await cp(join(root, "moved"), join(root, "a"), { recursive: true, preserveTimestamps: true });
  assert.deepEqual(await catalog.names(signal), ["a", "b", "moved"]);
});
