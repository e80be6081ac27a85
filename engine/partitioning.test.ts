import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { nullable, struct } from "../test/support/encoder-fixture.ts";
import { derivedFields, derivedOf, parsePartitioning, requireSameBuckets } from "./partitioning.ts";

test("columns are taken as they are, date, hour and buckets as what is derived", () => {
  assert.deepEqual(parsePartitioning(["country", "date", "hour", "bucket(16, customer_id)"]), {
    columns: ["country", "date", "hour", "customer_id_bucket"],
    derived: [
      { kind: "date", column: "date" },
      { kind: "hour", column: "hour" },
      { kind: "bucket", column: "customer_id_bucket", of: "customer_id", count: 16 },
    ],
  });
  assert.deepEqual(parsePartitioning([]), { columns: [], derived: [] });
});

test("items that were split at every comma are put together again", () => {
  const text = "date,bucket(16,customer_id), Bucket( 4 , äöü.x ) ,city";
  assert.deepEqual(parsePartitioning(text.split(",")), parsePartitioning([text]));
  assert.deepEqual(parsePartitioning([text]).columns, ["date", "customer_id_bucket", "äöü.x_bucket", "city"]);
});

test("what is in parentheses and no bucket is refused by name", () => {
  for (const item of [
    "bucket(0, id)",
    "bucket(65537, id)",
    "bucket(-1, id)",
    "bucket(4)",
    "bucket(id, 4)",
    "bucket(4, )",
    "bucket(4, id",
    "bucket(4, id))",
    "bucket(4, id) x",
    "bucket 4, id)",
    "truncate(4, id)",
    "bucket(4, a b)",
    "(x)",
  ])
    assert.throws(
      () => parsePartitioning([item]),
      (error) => isLabError(error, "CONFIG_INVALID"),
      item,
    );
  assert.throws(() => parsePartitioning(["date", "month(placed_at)"]), /month\(placed_at\)/);
});

const { derived: ALL } = parsePartitioning(["date", "hour", "bucket(16, id)"]);

test("a table gets the derived columns that nothing gives, and remembers how they are made", () => {
  const id = nullable("id", "long");
  const made = derivedFields([id], ALL);
  assert.deepEqual(
    made.map(({ name, type }) => [name, type]),
    [
      ["date", "string"],
      ["hour", "string"],
      ["id_bucket", "integer"],
    ],
  );
  const schema = { type: "struct" as const, fields: [id, ...made] };
  assert.deepEqual(derivedOf(schema, ["date", "hour", "id_bucket"]), ALL);
  assert.deepEqual(derivedOf(schema, ["hour"]), [ALL[1]]);
  assert.deepEqual(derivedFields(schema.fields, ALL), []);
});

test("columns that messages give are not derived, but for a date of a table that others made", () => {
  const schema = struct({ id: "long", date: "string", hour: "string", id_bucket: "integer" });
  assert.deepEqual(derivedOf(schema, ["date", "hour", "id_bucket"]), [{ kind: "date", column: "date" }]);
});

test("buckets are only of a column that is there and whose values have one text for ever", () => {
  const { derived } = parsePartitioning(["bucket(4, id)"]);
  for (const type of ["string", "byte", "long", "boolean", "date", "binary", "decimal(38,2)"] as const)
    assert.equal(derivedFields([nullable("id", type)], derived).length, 1, type);
  for (const columns of [
    [],
    [nullable("ID", "long")],
    [nullable("id", "double")],
    [nullable("id", "timestamp")],
    [nullable("id", struct({ id: "long" }))],
  ])
    assert.throws(
      () => derivedFields(columns, derived),
      (error) => isLabError(error, "SCHEMA_MISMATCH") && error.details.column === "id",
    );
});

test("other buckets than a table has are refused: a value would be in two of them", () => {
  const schema = struct({ id: "long" });
  const made = derivedFields(schema.fields, ALL);
  const table = { type: "struct" as const, fields: [...schema.fields, ...made] };
  requireSameBuckets(table, ["id_bucket"], ALL);
  requireSameBuckets(table, ["id_bucket"], []);
  requireSameBuckets(table, [], parsePartitioning(["bucket(8, id)"]).derived);
  assert.throws(
    () => requireSameBuckets(table, ["id_bucket"], parsePartitioning(["bucket(8, id)"]).derived),
    (error) => isLabError(error, "SCHEMA_MISMATCH") && /has 16 buckets of id, and 8/.test(error.message),
  );
});
