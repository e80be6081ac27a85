/** Tables whose constraints delta-rs set. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { python } from "../test/support/python.ts";
import { streamFixture } from "../test/support/stream-fixture.ts";

const json = (value: unknown) => ({ key: null, value: JSON.stringify(value) });

const MAKE = `
import sys, pyarrow as pa
from deltalake import DeltaTable, write_deltalake
schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("amount", pa.float64()), pa.field("note", pa.string()), pa.field("day", pa.date32())])
write_deltalake(sys.argv[1], pa.table({"id": [0], "amount": [1.0], "note": ["first"], "day": [None]}, schema=schema))
table = DeltaTable(sys.argv[1])
table.alter.add_constraint({"positive": "amount > 0 AND id <> 7"})
table.alter.add_constraint({"lately": "day IS NULL OR day > '2020-01-01'"})
table.alter.add_constraint({"short_note": "note IS NULL OR note NOT LIKE '______%'"})
`;

const READ_AND_APPEND = `
import sys, json, pyarrow as pa
from deltalake import DeltaTable, write_deltalake
table = DeltaTable(sys.argv[1])
schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("amount", pa.float64()), pa.field("note", pa.string()), pa.field("day", pa.date32())])
def append(id):
    write_deltalake(table, pa.table({"id": [id], "amount": [1.0], "note": [None], "day": [None]}, schema=schema), mode="append")
append(8)
try:
    append(7)
    refused = False
except Exception as error:
    refused = "failed validation" in str(error)
print(json.dumps({"ids": sorted(DeltaTable(sys.argv[1]).to_pyarrow_table()["id"].to_pylist()), "refused": refused}))
`;

test("a constraint that delta-rs set is held by both", async (t) => {
  const fixture = await streamFixture(t);
  const path = fileURLToPath(fixture.tableUri);
  await python(MAKE, [path]);
  fixture.kafka.createTopic("t", 1);
  fixture.kafka.append("t", 0, [
    json({ id: 1, amount: 0.5, note: "short" }),
    json({ id: 2, amount: -0.5 }),
    json({ id: 3, amount: 2, note: "far too long" }),
    json({ id: 7, amount: 2 }),
    json({ id: 5, amount: 2, day: "2019-12-31" }),
    json({ amount: 2 }),
    json({ id: 4, amount: 3 }),
  ]);
  await fixture.start({ once: true, metadata: false }).ended;
  const letters = await fixture.rows(
    'SELECT error_code AS code, error_message AS message FROM letters ORDER BY "offset"',
    "letters",
  );
  const violated = (name: string, expression: string, values: string) => ({
    code: "CONSTRAINT_VIOLATED",
    message: `constraint ${name} (${expression}) is violated with ${values}`,
  });
  assert.deepEqual(letters, [
    violated("positive", "amount > 0 AND id != 7", "amount = -0.5, id = 2"),
    violated("short_note", "note IS NULL OR note NOT LIKE '______%'", "note = far too long"),
    violated("positive", "amount > 0 AND id != 7", "amount = 2.0, id = 7"),
    violated("lately", "day IS NULL OR day > '2020-01-01'::date", "day = 2019-12-31"),
    { code: "NULL_NOT_ALLOWED", message: "id: is absent or null and must not be" },
  ]);
  assert.deepEqual(JSON.parse(await python(READ_AND_APPEND, [path])), { ids: [0, 1, 4, 8], refused: true });
});
