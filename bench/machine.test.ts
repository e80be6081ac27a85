import assert from "node:assert/strict";
import { test } from "node:test";
import { measurement } from "./machine.ts";

test("a result begins with when, where and with which programs it was measured", async () => {
  const { at, machine, loadBefore, versions } = await measurement(Date.UTC(2026, 0, 2, 3, 4, 5));
  assert.equal(at, "2026-01-02T03:04:05.000Z");
  assert.ok(machine.cores >= 1 && machine.memoryBytes > 1e8 && loadBefore >= 0);
  assert.equal(versions.node, process.version);
  assert.match(versions.kafka ?? "", /^\d+\.\d+\.\d+$/);
  assert.match(versions.lab ?? "", /^([0-9a-f]{10}\+?|\d+\.\d+\.\d+)$/);
});
