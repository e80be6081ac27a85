/** What flags and lab.yaml say of a stream of changes, and what has no place in one. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings, SETTINGS } from "../core/settings.ts";
import { labText, parseLabYaml } from "./lab-yaml.ts";
import { STREAM_SETTINGS, streamOptions } from "./stream-options.ts";

const TABLE = { ...STREAM_SETTINGS, store: SETTINGS.store, app: SETTINGS.app };

function streamOf(flags: Record<string, string | string[]>, yaml?: string) {
  const lab = yaml === undefined ? null : parseLabYaml(yaml, "lab.yaml");
  const [stream] = streamOptions(readSettings(TABLE, { flags, env: {}, file: labText(lab) }), lab);
  return stream!;
}

test("Debezium needs no more than its mode: the key is the message's, deletes are hidden, commits are small", () => {
  const { cdc, metadata, flush } = streamOf({ "--topic": "customers", "--mode": "cdc" });
  assert.deepEqual(cdc, {
    ...{ format: "debezium", keyColumns: undefined, deletes: "hidden", placeholder: undefined },
  });
  assert.equal(metadata, false);
  assert.deepEqual(flush, { latencyMs: 2000, rows: 100_000, bytes: 64 * 1024 * 1024 });
  assert.equal(streamOf({ "--topic": "customers" }).cdc, undefined);
});

test("a sweep after snapshots is asked for, by a flag or in lab.yaml", () => {
  const yaml = "streams: [{ topic: customers, mode: cdc, cdc: { sweep: true } }]";
  assert.equal(streamOf({}, yaml).cdc?.sweep, true);
  assert.equal(streamOf({ "--cdc-sweep": "false" }, yaml).cdc?.sweep, undefined);
  assert.equal(streamOf({ "--topic": "customers", "--mode": "cdc", "--cdc-sweep": "true" }).cdc?.sweep, true);
});

test("memory for keys is told as other sizes are", () => {
  const yaml = "streams: [{ topic: customers, mode: cdc, cdc: { keyMemory: 64MiB } }]";
  assert.equal(streamOf({}, yaml).cdc?.keyMemoryBytes, 64 * 1024 * 1024);
  assert.equal(streamOf({ "--cdc-key-memory": "1KiB" }, yaml).cdc?.keyMemoryBytes, 1024);
});

test("lab.yaml tells all of it, and flags win", () => {
  const yaml = `
streams:
  - topic: prices
    mode: cdc
    flush: { rows: 7 }
    cdc:
      format: plain
      key: [sku, shop]
      deletes: shown
      times: { at: ms }
      op: meta.kind
      row: .
      position: [file, pos]
      time: meta.time
      deleteOp: [gone]
`;
  const { cdc, flush } = streamOf({ "--cdc-key": ["sku"] }, yaml);
  assert.deepEqual(cdc, {
    ...{ format: "plain", keyColumns: ["sku"], deletes: "shown", placeholder: undefined },
    timeColumns: new Map([["at", "ms"]]),
    plain: {
      ...{ op: "meta.kind", row: undefined, key: "key", position: ["file", "pos"] },
      ...{ time: "meta.time", deleteOps: ["gone"] },
    },
  });
  assert.equal(flush.rows, 7);
});

const REFUSED: [story: string, flags: Record<string, string | string[]>, message: RegExp][] = [
  [
    "settings of changes without their mode",
    { "--cdc-key": ["id"] },
    /there are settings for changes, and its mode is append/,
  ],
  [
    "a format that does not tell its key",
    { "--mode": "cdc", "--cdc-format": "dms" },
    /dms do not say what their key is/,
  ],
  [
    "a sweep where nothing tells the end of a snapshot",
    { "--mode": "cdc", "--cdc-format": "dms", "--cdc-key": ["id"], "--cdc-sweep": "true" },
    /dms do not say where a snapshot ends/,
  ],
  ["a key column twice", { "--mode": "cdc", "--cdc-key": ["id", "id"] }, /the column id twice/],
  [
    "a place of plain changes for others",
    { "--mode": "cdc", "--cdc-position": ["seq"] },
    /cdc.position says where plain changes have/,
  ],
  ["a transform", { "--mode": "cdc", "--transform": "SELECT * FROM messages" }, /no place for a transform/],
  ["a route", { "--mode": "cdc", "--route": "country" }, /no place for a route/],
  ["raw values", { "--mode": "cdc", "--keep-raw": "on" }, /no place for raw values/],
  ["_kafka", { "--mode": "cdc", "--metadata": "on" }, /no place for _kafka/],
  [
    "a format that holds no changes",
    { "--mode": "cdc", "--format": "text" },
    /of format text are no changes/,
  ],
  [
    "a position of four parts",
    { "--mode": "cdc", "--cdc-format": "plain", "--cdc-key": ["id"], "--cdc-position": ["a", "b", "c", "d"] },
    /at most three parts/,
  ],
];

for (const [story, flags, message] of REFUSED)
  test(`refused with a way out: ${story}`, () => {
    assert.throws(
      () => streamOf({ "--topic": "t", ...flags }),
      (error: { code: string; message: string; hint: string }) => {
        assert.equal(error.code, "CONFIG_INVALID");
        assert.match(error.message, message);
        assert.ok(error.hint.length > 10);
        return true;
      },
    );
  });

test("a unit of time that is none is refused, in flags and in lab.yaml", () => {
  assert.throws(() => streamOf({ "--topic": "t", "--mode": "cdc", "--cdc-times": ["at=weeks"] }), {
    code: "USAGE",
  });
  assert.throws(() => streamOf({}, "streams: [{ topic: t, mode: cdc, cdc: { times: { at: weeks } } }]"), {
    code: "CONFIG_INVALID",
    message: /days/,
  });
});
