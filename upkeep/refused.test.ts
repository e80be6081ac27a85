/** Changes that are refused: before anything is written, or without leaving a trace. */

import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Metadata, Protocol } from "../delta/actions.ts";
import type { StructType } from "../delta/types.ts";
import { signal, type TestTable, testTable } from "../test/support/upkeep-table.ts";
import { deleteRows } from "./delete.ts";
import { optimize } from "./optimize.ts";
import { overwriteRows } from "./overwrite.ts";
import { updateRows } from "./update.ts";

const FEED = { "delta.enableChangeDataFeed": "true" };

/** What each change is, over a table with column `id`. */
const CHANGES: Record<string, (one: TestTable) => Promise<unknown>> = {
  delete: (one) => deleteRows(one.table, { ...one, where: "id % 2 = 0", signal }),
  update: (one) => updateRows(one.table, { ...one, set: { id: "id + 1" }, where: "id % 2 = 0", signal }),
  overwrite: (one) => overwriteRows(one.table, { ...one, select: "FROM current", replace: "table", signal }),
  "overwrite by condition": (one) =>
    overwriteRows(one.table, { ...one, select: "SELECT 2 AS id", replace: { where: "id % 2 = 0" }, signal }),
  optimize: (one) => optimize(one.table, { ...one, signal }),
  "optimize in order": (one) => optimize(one.table, { ...one, zorder: ["id"], signal }),
};

/** What another engine asked of the table since its rows were written. */
async function demand(one: TestTable, protocol: Protocol, metadata: (now: Metadata) => Metadata) {
  const { version, metadata: now } = await one.snapshot();
  const actions = [{ protocol }, { metaData: metadata(now) }].map((action) => JSON.stringify(action));
  const name = `${String(version + 1).padStart(20, "0")}.json`;
  await writeFile(join(one.tablePath, "_delta_log", name), actions.join("\n"));
}

async function refusedWithoutTrace(one: TestTable, message: RegExp) {
  const filesOf = async () => (await readdir(one.tablePath, { recursive: true })).sort();
  const before = await filesOf();
  for (const [name, change] of Object.entries(CHANGES)) {
    await assert.rejects(
      change(one),
      (error) => isLabError(error, "UNSUPPORTED_FEATURE") && message.test(error.message),
      name,
    );
    assert.deepEqual(await filesOf(), before, name);
  }
}

async function twoFiles(t: TestContext, columns = { id: "long" } as const) {
  const one = await testTable(t, columns, { configuration: FEED });
  for (let i = 0; i < 2; i++) await one.append("SELECT range AS id FROM range(10)");
  return one;
}

test("a table that maps its columns is left as it is, without files that no version names", async (t) => {
  const one = await twoFiles(t);
  await demand(one, { minReaderVersion: 2, minWriterVersion: 5 }, (now) => {
    const schema = JSON.parse(now.schemaString) as StructType;
    const fields = schema.fields.map((field, i) => ({
      ...field,
      metadata: { "delta.columnMapping.id": i + 1, "delta.columnMapping.physicalName": field.name },
    }));
    const configuration = {
      ...FEED,
      "delta.columnMapping.mode": "name",
      "delta.columnMapping.maxColumnId": "1",
    };
    return { ...now, schemaString: JSON.stringify({ ...schema, fields }), configuration };
  });
  await refusedWithoutTrace(one, /columnMapping/);
});

test("a table whose rows have ids is left as it is, without files that no version names", async (t) => {
  const one = await twoFiles(t);
  const writerFeatures = ["rowTracking", "domainMetadata", "changeDataFeed"];
  await demand(one, { minReaderVersion: 1, minWriterVersion: 7, writerFeatures }, (now) => ({
    ...now,
    configuration: { ...FEED, "delta.enableRowTracking": "true" },
  }));
  await refusedWithoutTrace(one, /rowTracking/);
});

test("a row that loses its partition where that takes no nulls is refused, and its file goes", async (t) => {
  const one = await testTable(t, { id: "long", p: "string" }, { partitionColumns: ["p"] });
  await one.append("SELECT 1 AS id, 'a' AS p");
  await demand(one, (await one.snapshot()).protocol, (now) => {
    const { fields } = JSON.parse(now.schemaString) as StructType;
    const strict = fields.map((field) => ({ ...field, nullable: field.name !== "p" }));
    return { ...now, schemaString: JSON.stringify({ type: "struct", fields: strict }) };
  });
  const files = async () =>
    (await readdir(one.tablePath, { recursive: true })).filter((path) => path.endsWith(".parquet"));
  const before = await files();
  await assert.rejects(updateRows(one.table, { ...one, set: { p: "''" }, signal }), (error) =>
    isLabError(error, "CONSTRAINT_VIOLATED"),
  );
  assert.deepEqual(await files(), before);
});

test("a column that is named like a helper of ours is refused by name, and no row is taken for another", async (t) => {
  for (const name of ["lab file", "LAB ROW", "lab z"]) {
    const one = await twoFiles(t);
    const { protocol } = await one.snapshot();
    await demand(one, protocol, (now) => {
      const schema = JSON.parse(now.schemaString) as StructType;
      const fields = [...schema.fields, { name, type: "long", nullable: true, metadata: {} }];
      return { ...now, schemaString: JSON.stringify({ ...schema, fields }) };
    });
    await refusedWithoutTrace(one, new RegExp(`column "${name}"`));
  }
});

test("rows are not written where all columns are partition columns: a file would have none", async (t) => {
  const one = await testTable(t, { id: "long" });
  await demand(one, (await one.snapshot()).protocol, (now) => ({ ...now, partitionColumns: ["id"] }));
  await assert.rejects(
    overwriteRows(one.table, { ...one, select: "SELECT 2 AS id", replace: "table", signal }),
    (error) => isLabError(error, "UNSUPPORTED_FEATURE") && /no column would be in a file/.test(error.message),
  );
});
