/** Tables whose keys are more than may be held in memory. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { many, mergeTable, none, remove, truncate, upsert } from "../../test/support/merge-table.ts";
import { bytesOfKeys } from "./key-table.ts";

const COLUMNS = { id: "long", name: "string" } as const;
/** What the smallest index takes. */
const LEAST = bytesOfKeys(1);

test("where keys are too many they are looked up for each batch, which is told once, and come to the same", async (t) => {
  const told: number[] = [];
  const merger = {
    indexBytes: LEAST,
    onIndexOver: (bytes: number) => void told.push(bytes),
    compactEvery: 3,
  };
  const one = await mergeTable(t, COLUMNS, { merger });
  const held = await mergeTable(t, COLUMNS, { merger: { compactEvery: 3 } });
  for (const [n, batch] of [
    many(0, 3000, 1),
    many(2000, 6000, 10_000),
    [remove({ id: 5 }, { at: 20_000 }), remove({ id: 5500 }, { at: 20_001 })],
    [
      upsert({ id: 5 }, { at: 20_002, absent: ["name"] }),
      upsert({ id: 7 }, { at: 20_003, absent: ["name"] }),
    ],
    [upsert({ id: 5, name: "late" }, { at: 19_999 }), upsert({ id: 7000, name: "new" }, { at: 20_004 })],
    [truncate({ at: 9000 }), upsert({ id: 1, name: "again" }, { at: 9001 })],
    many(0, 10, 30_000),
  ].entries()) {
    assert.deepEqual(await one.merge(batch), await held.merge(batch), `batch ${n}`);
    assert.deepEqual(await one.live(), await held.live(), `after batch ${n}`);
  }
  assert.deepEqual(told, [bytesOfKeys(6000)]);
});

test("a table that has become small is held again, and told of when it grows once more", async (t) => {
  let told = 0;
  const merger = { indexBytes: 2 * LEAST, onIndexOver: () => void told++ };
  const one = await mergeTable(t, COLUMNS, { merger });
  await one.merge(many(0, 9000, 1));
  await one.merge([truncate({ at: 100_000 })]);
  await one.merge(many(0, 10, 200_000));
  await one.merge(many(5, 15, 200_100));
  assert.equal(told, 1);
  await one.merge(many(0, 9000, 300_000));
  assert.equal(told, 2);
  assert.equal((await one.live()).length, 9000);
});

test("keys of several columns, of texts and of partitions are looked up as they are held", async (t) => {
  const columns = { id: "long", region: "string", day: "date", name: "string" } as const;
  const key = ["id", "region", "day"];
  const options = { keyColumns: key, partitionColumns: ["region"], merger: { indexBytes: 0 } };
  const one = await mergeTable(t, columns, options);
  const row = (id: number, region: string, name: string, at: number) =>
    upsert({ id, region, day: "2026-01-02", name }, { at, key });
  await one.merge([row(1, "it's", "a", 1), row(-2, "nord", "b", 2), row(1, "nord", "c", 3)]);
  await one.merge([row(5, "süd", "d", 4)]);
  const counts = await one.merge([
    row(1, "it's", "e", 10),
    row(-2, "nord", "old", 1),
    row(9, "süd", "f", 11),
  ]);
  assert.deepEqual(counts, { ...none, inserted: 1, updated: 1, ignored: 1 });
  assert.deepEqual((await one.live()).map(({ id, region, name }) => [id, region, name]).sort(), [
    [-2, "nord", "b"],
    [1, "it's", "e"],
    [1, "nord", "c"],
    [5, "süd", "d"],
    [9, "süd", "f"],
  ]);
});

test("keys that no statement can hold, or at the ends of their type, are looked up as they are held", async (t) => {
  const texts = ["a\0b", "a", "\0", "", "a\u0001", "it's $1?", "\u{10ffff}"];
  const longs = ["-9223372036854775808", "9223372036854775807", "0"];
  for (const [type, keys] of [
    ["string", texts.map((text) => JSON.stringify(text))],
    ["long", longs],
  ] as const) {
    const one = await mergeTable(t, { id: type, name: "string" }, { merger: { indexBytes: 0 } });
    const row = (id: string, name: string, at: number) => ({
      ...upsert({ id }, { at }),
      row: Buffer.from(`{"id":${id},"name":"${name}"}`),
    });
    let at = 0;
    for (const id of keys) assert.equal((await one.merge([row(id, "a", ++at)])).inserted, 1, id);
    for (const id of keys) assert.equal((await one.merge([row(id, "b", ++at)])).updated, 1, id);
    assert.equal((await one.merge(keys.map((id) => row(id, "c", ++at)))).updated, keys.length);
    assert.equal((await one.live()).length, keys.length);
  }
});

test("a column of the key may be called like what is read beside it, held or looked up", async (t) => {
  for (const name of ["n", "src", "file", "row", "one", "hi"])
    for (const indexBytes of [0, 2 ** 30]) {
      const options = { keyColumns: [name], merger: { indexBytes } };
      const one = await mergeTable(t, { [name]: "long", v: "string" }, options);
      const row = (id: number, v: string, at: number) => upsert({ [name]: id, v }, { at, key: [name] });
      await one.merge([row(1, "a", 1), row(2, "b", 2)]);
      assert.deepEqual(await one.merge([row(1, "c", 3), remove({ [name]: 2 }, { at: 4 })]), {
        ...none,
        updated: 1,
        deleted: 1,
      });
      assert.deepEqual(await one.live(), [{ [name]: 1, v: "c" }]);
      await one.close();
    }
});

test("a doubled key is found where keys are looked up, too", async (t) => {
  const one = await mergeTable(t, COLUMNS, { merger: { indexBytes: 0 } });
  await one.append("SELECT 1::BIGINT AS id, 'a' AS name, NULL AS _cdc");
  await one.append("SELECT 1::BIGINT AS id, 'b' AS name, NULL AS _cdc");
  const result = await one.apply([upsert({ id: 1, name: "c" }, { at: 1 })]);
  assert.equal(result.kind === "refused" && result.changes[0]?.code, "KEY_DOUBLED");
});
