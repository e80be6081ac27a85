import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { serializeSchema } from "../delta/schema.ts";
import { signal, type TestTable, testTable } from "../test/support/upkeep-table.ts";
import { deleteRows } from "./delete.ts";
import { overwriteRows } from "./overwrite.ts";
import { updateRows } from "./update.ts";

const COLUMNS = { id: "long", p: "string", v: "double" } as const;
const POSITIVE = { "delta.constraints.positive": "v > 0" };
const PROTOCOL = {
  minReaderVersion: 1,
  minWriterVersion: 7,
  writerFeatures: ["appendOnly", "invariants", "checkConstraints", "generatedColumns"],
};

/** A table of ids 1 to 3 with v as the id, and then the properties, and the column's metadata. */
async function tableWith(
  t: Parameters<typeof testTable>[0],
  configuration: Record<string, string>,
  ofId = {},
): Promise<TestTable> {
  const one = await testTable(t, COLUMNS, { partitionColumns: ["p"] });
  await one.append("SELECT range AS id, 'a' AS p, range::DOUBLE AS v FROM range(1, 4)");
  const readSnapshot = await one.snapshot();
  const { metadata, schema } = readSnapshot;
  const fields = schema.fields.map((field) => (field.name === "id" ? { ...field, ...ofId } : field));
  await one.table.commit(
    {
      readSnapshot,
      operation: "ADD CONSTRAINT",
      protocol: PROTOCOL,
      metadata: { ...metadata, configuration, schemaString: serializeSchema({ type: "struct", fields }) },
    },
    signal,
  );
  return one;
}

const values = async (one: TestTable) =>
  (await one.rows()).map((row) => JSON.parse(row) as { id: number; v: number }).map(({ id, v }) => [id, v]);
const dataFiles = async (one: TestTable) =>
  (await readdir(join(one.folder, "table"), { recursive: true })).filter((name) => name.endsWith(".parquet"))
    .length;

const isViolation =
  (...parts: readonly string[]) =>
  (error: unknown) => {
    assert.ok(isLabError(error, "CONSTRAINT_VIOLATED"), String(error));
    for (const part of parts) assert.ok(error.message.includes(part), error.message);
    return true;
  };

test("an update that violates a constraint changes nothing, and says how many rows and which values", async (t) => {
  const one = await tableWith(t, POSITIVE);
  const before = await dataFiles(one);
  await assert.rejects(
    updateRows(one.table, { ...one, set: { v: "v - 2" }, signal }),
    isViolation("constraint positive (v > 0)", "by 2 of the new rows", "v = -1.0"),
  );
  assert.deepEqual(
    [await values(one), await dataFiles(one)],
    [
      [
        [1, 1],
        [2, 2],
        [3, 3],
      ],
      before,
    ],
  );
  const { updated } = await updateRows(one.table, { ...one, set: { v: "v - 2" }, where: "id = 3", signal });
  assert.equal(updated, 1n);
  assert.deepEqual(await values(one), [
    [1, 1],
    [2, 2],
    [3, 1],
  ]);
});

test("an overwrite that violates a constraint, or sets null where none may be, changes nothing", async (t) => {
  const one = await tableWith(t, POSITIVE, { nullable: false });
  const overwrite = (select: string, replace: "table" | "partitions" | { where: string } = "table") =>
    overwriteRows(one.table, { ...one, select, replace, signal });
  for (const replace of ["table", "partitions", { where: "id < 2" }] as const)
    await assert.rejects(
      overwrite("SELECT 1 AS id, 'a' AS p, -1 AS v", replace),
      isViolation("positive", "v = -1.0"),
    );
  await assert.rejects(
    overwrite("SELECT NULL AS id, 'a' AS p, 1 AS v"),
    isViolation("NOT NULL of column id"),
  );
  assert.deepEqual([(await values(one)).length, await dataFiles(one)], [3, 1]);
  await overwrite("SELECT 1 AS id, 'a' AS p, 7 AS v", { where: "id < 2" });
  assert.deepEqual(await values(one), [
    [1, 7],
    [2, 2],
    [3, 3],
  ]);
});

test("rows that stay as they are need no check: they were in the table before the constraint", async (t) => {
  const one = await tableWith(t, { "delta.constraints.large": "v > 1" });
  await deleteRows(one.table, { ...one, where: "id = 2", signal });
  await updateRows(one.table, { ...one, set: { v: "5" }, where: "id = 3", signal });
  assert.deepEqual(await values(one), [
    [1, 1],
    [3, 5],
  ]);
});

test("what cannot be checked or computed is refused before a file is written", async (t) => {
  const generated = { metadata: { "delta.generationExpression": "1" } };
  for (const [one, named] of [
    [await tableWith(t, { "delta.constraints.c": "v > rand()" }), "constraint c (v > rand())"],
    [await tableWith(t, {}, generated), "generatedColumns (column id)"],
  ] as const) {
    const isRefused = (error: unknown) =>
      isLabError(error, "UNSUPPORTED_FEATURE") && error.message.includes(named);
    await assert.rejects(updateRows(one.table, { ...one, set: { v: "1" }, signal }), isRefused);
    await assert.rejects(
      overwriteRows(one.table, { ...one, select: "SELECT 1 AS id", replace: "table", signal }),
      isRefused,
    );
    assert.equal(await dataFiles(one), 1);
  }
});
