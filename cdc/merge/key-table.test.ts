import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createKeyTable, type KeyHash, ROW_COLUMNS } from "./key-table.ts";

/** Few enough to collide in their first number, where slots begin. */
const hash = fc.tuple(fc.nat(3), fc.nat(2), fc.nat(2), fc.constant(7)).map((all): KeyHash => all);
const command = fc.oneof(
  fc.record({
    what: fc.constant("put" as const),
    hash,
    file: fc.nat(3),
    row: fc.nat(9),
    lo: fc.bigInt(-9n, 9n),
  }),
  fc.record({ what: fc.constant("drop" as const), hash }),
  fc.record({ what: fc.constant("drop file" as const), file: fc.nat(3) }),
);

test("it holds what a map would", () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const table = createKeyTable();
      const files = new Set([0, 1, 2, 3]);
      for (const file of files) table.addFile(file);
      let model: { key: string; file: number; row: number; lo: bigint }[] = [];
      for (const one of commands)
        if (one.what === "put") {
          const { file, row, lo } = one;
          const position = {
            source: `s${lo}`,
            hi: 2n ** 62n,
            lo,
            sub: -1n,
            timeMicros: null,
            isSnapshot: lo > 0n,
          };
          const order = { position, place: { partition: 3, offset: 2n ** 60n + lo, generation: 2 } };
          table.put(one.hash, { file, row, order, isDeleted: false, missing: lo === 5n ? ["a"] : [] });
          if (files.has(file)) model.push({ key: one.hash.join(), file, row, lo });
        } else if (one.what === "drop") {
          const entry = table.find(one.hash);
          if (!entry) continue;
          table.drop(entry.id);
          const lo = entry.order?.position?.lo;
          const at = model.findIndex(
            (row) =>
              row.key === one.hash.join() &&
              row.file === entry.file &&
              row.row === entry.row &&
              row.lo === lo,
          );
          model.splice(at, 1);
        } else {
          table.dropFile(one.file);
          files.delete(one.file);
          model = model.filter(({ file }) => file !== one.file);
        }
      for (const { key } of model) {
        const entry = table.find(key.split(",").map(Number) as unknown as KeyHash);
        const same = model.filter((row) => row.key === key);
        const lo = entry?.order?.position?.lo;
        assert.equal(entry?.isDoubled, same.length > 1);
        assert.ok(
          same.some((row) => row.file === entry?.file && row.row === entry.row && row.lo === lo),
          "one of the rows",
        );
        assert.deepEqual(entry?.order?.position, {
          ...{ source: `s${lo}`, hi: 2n ** 62n, lo, sub: -1n, timeMicros: null, isSnapshot: lo! > 0n },
        });
        assert.deepEqual(entry?.order?.place, { partition: 3, offset: 2n ** 60n + lo!, generation: 2 });
        assert.deepEqual(entry?.missing, lo === 5n ? ["a"] : []);
      }
      const places = [...table.entries()].map(({ file, row }) => [file, row].join());
      assert.deepEqual(places.sort(), model.map(({ file, row }) => [file, row].join()).sort());
    }),
  );
});

test("a second live row of a key stands beside the first, and either is found when the other is gone", () => {
  const table = createKeyTable();
  const key: KeyHash = [1, 2, 3, 4];
  const row = { file: 0, row: 0, order: null, isDeleted: false, missing: [] };
  for (const file of [0, 1]) table.addFile(file);
  table.put(key, row);
  assert.equal(table.find(key)?.isDoubled, false);
  table.put(key, { ...row, file: 1 });
  assert.equal(table.find(key)?.isDoubled, true);
  table.dropFile(1);
  assert.deepEqual(table.find(key), { ...row, id: 0, isDoubled: false });
  table.drop(0);
  assert.equal(table.find(key), undefined);
  table.put(key, row);
  assert.equal(table.find(key)?.isDoubled, false);
});

test("rows put as columns are what they are one by one, beyond the room it begins with", () => {
  const table = createKeyTable();
  table.addFile(7);
  const rows = 20_000;
  const column = (value: (i: number) => bigint) => BigInt64Array.from({ length: rows }, (_, i) => value(i));
  const columns: Record<(typeof ROW_COLUMNS)[number], BigInt64Array> = {
    file: column(() => 2n),
    row: column((i) => BigInt(i)),
    hash1: column((i) => (BigInt(i) << 32n) | BigInt(i % 5)),
    hash2: column((i) => BigInt(i) * 3n),
    hi: column((i) => -BigInt(i) * 2n ** 40n),
    lo: column((i) => BigInt(i)),
    sub: column(() => 0n),
    time: column((i) => BigInt(i) * 1_000_003n),
    offset: column((i) => 2n ** 40n + BigInt(i)),
    place: column(() => (6n << 32n) | 4n),
    flags: column((i) => (i % 2 === 0 ? 1n | 2n | 4n | 16n : 1n)),
    source: column((i) => BigInt(i % 3)),
  };
  table.putAll({
    rows,
    columns: ROW_COLUMNS.map((name) => columns[name]),
    firstFile: 5,
    sources: ["a", "b", "c"],
  });
  assert.equal(table.size, rows);
  for (const i of [0, 1, 4_095, 4_096, 12_344, 19_999]) {
    const entry = table.find([i % 5, i, i * 3, 0]);
    assert.deepEqual(entry?.order?.place, { partition: 4, offset: 2n ** 40n + BigInt(i), generation: 6 });
    assert.deepEqual([entry?.file, entry?.row, entry?.isDeleted], [7, i, i % 2 === 0]);
    const position = {
      ...{ source: "abc"[i % 3]!, hi: -BigInt(i) * 2n ** 40n, lo: BigInt(i), sub: 0n },
      ...{ timeMicros: BigInt(i) * 1_000_003n, isSnapshot: false },
    };
    assert.deepEqual(entry?.order?.position, i % 2 === 0 ? position : null);
  }
});
