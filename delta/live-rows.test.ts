import assert from "node:assert/strict";
import { test } from "node:test";
import { keptLiveRows, rowsOfPartitions } from "./live-rows.ts";

test("live rows are looked up once a version, and again when it changed or another was asked for", () => {
  const asked: number[] = [];
  const kept = keptLiveRows((row) => row % 2);
  const rowsOf = (version: number) => {
    const isLive = (row: number) => {
      asked.push(row);
      return row !== version;
    };
    return [...kept.of(version, 4, isLive).rows];
  };
  assert.deepEqual(rowsOf(1), [0, 2, 3]);
  assert.deepEqual(rowsOf(1), [0, 2, 3]);
  assert.equal(asked.length, 4);
  kept.changed(2);
  rowsOf(1);
  assert.equal(asked.length, 4);
  kept.changed(1);
  rowsOf(1);
  assert.deepEqual([rowsOf(0), asked.length], [[1, 2, 3], 12]);
});

test("rows of the chosen partitions come in their order, and each partition is asked once", () => {
  const live = { rows: Uint32Array.of(1, 4, 5, 9, 12), partitions: Int32Array.of(0, 2, 0, 1, 2) };
  const asked: (string | null | undefined)[] = [];
  const chosen = rowsOfPartitions(live, [{ p: "a" }, { p: "b" }, { p: "c" }, { p: "no row" }], ({ p }) => {
    asked.push(p);
    return p !== "a";
  });
  assert.deepEqual([...chosen], [4, 9, 12]);
  assert.deepEqual(asked, ["a", "c", "b"]);
});
