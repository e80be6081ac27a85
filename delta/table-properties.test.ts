import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import {
  checkProperties,
  checkpointInterval,
  deletedFileRetentionMs,
  numIndexedColumns,
} from "./table-properties.ts";

test("properties have the protocol's defaults", () => {
  assert.deepEqual(
    [checkpointInterval({}), numIndexedColumns({}), deletedFileRetentionMs({})],
    [10, 32, 604_800_000],
  );
});

test("values that are set count", () => {
  assert.equal(checkpointInterval({ "delta.checkpointInterval": "3" }), 3);
  assert.equal(numIndexedColumns({ "delta.dataSkippingNumIndexedCols": "-1" }), -1);
  assert.equal(
    deletedFileRetentionMs({ "delta.deletedFileRetentionDuration": "interval 2 days" }),
    172_800_000,
  );
});

const nonsense: [string, string][] = [
  ["delta.checkpointInterval", "0"],
  ["delta.checkpointInterval", "1.5"],
  ["delta.checkpointInterval", ""],
  ["delta.dataSkippingNumIndexedCols", "-2"],
  ["delta.deletedFileRetentionDuration", "interval 1 month"],
  ["delta.logRetentionDuration", "soon"],
  ["delta.appendOnly", "yes"],
  ["delta.isolationLevel", "SnapshotIsolation"],
];
for (const [key, value] of nonsense) {
  test(`${key} = "${value}" is refused when set, and is the default where another writer set it`, () => {
    const set = { [key]: value };
    assert.throws(
      () => checkProperties(set),
      (error) => isLabError(error, "CONFIG_INVALID"),
    );
    assert.deepEqual(
      [checkpointInterval(set), numIndexedColumns(set), deletedFileRetentionMs(set)],
      [10, 32, 604_800_000],
    );
  });
}

test("unknown properties pass", () => {
  checkProperties({ "delta.future": "x", "my.own": "y" });
});
