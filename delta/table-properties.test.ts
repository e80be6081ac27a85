import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import {
  checkProperties,
  checkpointInterval,
  checkpointStats,
  deletedFileRetentionMs,
  isLogCleanupEnabled,
  logRetentionMs,
  numIndexedColumns,
  targetFileSize,
  transactionRetentionMs,
} from "./table-properties.ts";

const DAY_MS = 86_400_000;

/** All that is read of a configuration. */
const read = (configuration: Record<string, string>) => ({
  interval: checkpointInterval(configuration),
  columns: numIndexedColumns(configuration),
  deletedFiles: deletedFileRetentionMs(configuration),
  log: logRetentionMs(configuration),
  isCleaned: isLogCleanupEnabled(configuration),
  transactions: transactionRetentionMs(configuration),
  fileSize: targetFileSize(configuration),
  stats: checkpointStats(configuration),
});
const defaults = {
  interval: 10,
  columns: 32,
  deletedFiles: 7 * DAY_MS,
  log: 30 * DAY_MS,
  isCleaned: true,
  transactions: undefined,
  fileSize: 134_217_728,
  stats: { asJson: true, asStruct: false },
};

test("properties have the protocol's defaults", () => {
  assert.deepEqual(read({}), defaults);
});

const set: [string, string, Partial<typeof defaults> | { transactions: number }][] = [
  ["delta.checkpointInterval", "3", { interval: 3 }],
  ["delta.dataSkippingNumIndexedCols", "-1", { columns: -1 }],
  ["delta.deletedFileRetentionDuration", "interval 2 days", { deletedFiles: 2 * DAY_MS }],
  ["delta.logRetentionDuration", "interval 1 week", { log: 7 * DAY_MS }],
  ["delta.enableExpiredLogCleanup", "false", { isCleaned: false }],
  ["delta.setTransactionRetentionDuration", "interval 1 day", { transactions: DAY_MS }],
  ["delta.targetFileSize", "134217729", { fileSize: 134_217_729 }],
  ["delta.targetFileSize", "100mb", { fileSize: 104_857_600 }],
  ["delta.targetFileSize", "1 GiB", { fileSize: 2 ** 30 }],
  ["delta.targetFileSize", "64k", { fileSize: 65_536 }],
  ["delta.checkpoint.writeStatsAsStruct", "true", { stats: { asJson: true, asStruct: true } }],
  // Without columns to hold them, the text is all there is of the statistics.
  ["delta.checkpoint.writeStatsAsJson", "false", {}],
];
for (const [key, value, expected] of set) {
  test(`${key} = "${value}" counts`, () => {
    checkProperties({ [key]: value });
    assert.deepEqual(read({ [key]: value }), { ...defaults, ...expected });
  });
}

const nonsense: [string, string][] = [
  ["delta.checkpointInterval", "0"],
  ["delta.checkpointInterval", "1.5"],
  ["delta.checkpointInterval", ""],
  ["delta.dataSkippingNumIndexedCols", "-2"],
  ["delta.deletedFileRetentionDuration", "interval 1 month"],
  ["delta.logRetentionDuration", "soon"],
  ["delta.setTransactionRetentionDuration", "interval 1 year"],
  ["delta.targetFileSize", "0"],
  ["delta.targetFileSize", "large"],
  ["delta.enableExpiredLogCleanup", "no"],
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
    assert.deepEqual(read(set), defaults);
    checkProperties({ ...set, "my.own": "y" }, set);
  });
}

test("unknown properties pass", () => {
  checkProperties({ "delta.future": "x", "my.own": "y" });
});
