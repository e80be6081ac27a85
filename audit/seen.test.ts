import assert from "node:assert/strict";
import { test } from "node:test";
import { openQuery } from "../query/query.ts";
import { lakeTable, signal } from "../test/support/lake-table.ts";
import { encodeStamp } from "./header.ts";
import { cellKey, readSeen } from "./seen.ts";

test("messages are found by their stamps whatever the columns of their table are called", async (t) => {
  const names = ["h", "p", "o", "i", "n", "stamp", "generation", "found", "topic"];
  const columns = Object.fromEntries(names.map((name) => [name, "string" as const]));
  const lake = await lakeTable(t, { columns });
  const cell = { origin: "shop", epoch: 300_000, windowMs: 300_000 };
  const stamp = encodeStamp({
    ...{ origin: cell.origin, epoch: cell.epoch, host: "one", eventTimeMs: 300_001 },
    ...{ sequence: 4, windowSequence: 3 },
  });
  const value = `'${[...stamp].map((byte) => `\\x${byte.toString(16).padStart(2, "0").toUpperCase()}`).join("")}'::BLOB`;
  await lake.append([
    {
      ...{ partition: 1, offset: 7, ms: 300_001 },
      columns: names.map((name) => `'${name}!' AS "${name}"`).join(", "),
      headers: `[{'key': 'other', 'value': NULL}, {'key': 'lab-audit', 'value': ${value}}]`,
    },
  ]);
  const query = openQuery({ store: lake.folder });
  t.after(() => query.close());
  const named = { name: "table", table: lake.table };
  const seen = await readSeen(query, named, "t", [cell], signal);
  assert.deepEqual(seen?.get(cellKey(cell)), [{ sequence: 3, partition: 1, offset: 7n, times: 1 }]);
});
