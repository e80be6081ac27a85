import assert from "node:assert/strict";
import { test } from "node:test";
import { beforeVersion, checkpointPath, commitPath, parseLogName } from "./log-names.ts";

const V = "00000000000000000007";

test("each kind of log file is told by its name", () => {
  assert.deepEqual(parseLogName(`_delta_log/${V}.json`), { kind: "commit", version: 7 });
  assert.deepEqual(parseLogName(`_delta_log/${V}.checkpoint.parquet`), { kind: "classic", version: 7 });
  assert.deepEqual(parseLogName(`_delta_log/${V}.checkpoint.0000000002.0000000003.parquet`), {
    kind: "multi",
    version: 7,
    part: 2,
    parts: 3,
  });
  const uuid = "80a083e8-7026-4e79-81be-64bd76c43a11";
  assert.deepEqual(parseLogName(`_delta_log/${V}.checkpoint.${uuid}.json`), { kind: "v2", version: 7 });
  assert.deepEqual(parseLogName(`_delta_log/${V}.checkpoint.${uuid}.parquet`), { kind: "v2", version: 7 });
  assert.deepEqual(parseLogName(`_delta_log/00000000000000000003.${V}.compacted.json`), {
    kind: "compaction",
    version: 7,
    from: 3,
  });
});

test("whatever else stands there is ignored", () => {
  for (const name of [
    `${V}.json.tmp`,
    `.${V}.json.crc`,
    `${V}.crc`,
    `${V}.80a083e8-7026-4e79-81be-64bd76c43a11.json`,
    `_staged_commits/${V}.json`,
    `x${V}.json`,
    "7.json",
    "_last_checkpoint",
  ])
    assert.equal(parseLogName(`_delta_log/${name}`), undefined, name);
});

test("a listing that starts before a version holds its commit and its checkpoint", () => {
  assert.ok(beforeVersion(7) < commitPath(7));
  assert.ok(beforeVersion(7) < checkpointPath(7));
  assert.ok(beforeVersion(7) > commitPath(6));
});
