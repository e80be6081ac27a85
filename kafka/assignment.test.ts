import assert from "node:assert/strict";
import { test } from "node:test";
import { createAssignment } from "./assignment.ts";

const p0 = { topic: "t", partition: 0 };
const p1 = { topic: "t", partition: 1 };

/** An assignment of both, how often it said that something changed, and which partitions are free. */
function assigned() {
  let changes = 0;
  const assignment = createAssignment(() => {
    changes += 1;
  });
  assert.equal(assignment.begin([p0, p1]), 1);
  const free = () => assignment.free().map(({ partition, nextOffset }) => `${partition}@${nextOffset}`);
  return { assignment, free, changes: () => changes };
}

test("all partitions are held until each has its position", () => {
  const { assignment, free } = assigned();
  assert.deepEqual(free(), []);
  assignment.seek({ ...p1, nextOffset: 5n });
  assert.deepEqual(free(), ["1@5"]);
});

test("a lane is free only when the last hold is released", () => {
  const { assignment, free, changes } = assigned();
  assignment.seek({ ...p0, nextOffset: 0n });
  const lane = assignment.lane(p0)!;
  assignment.hold(lane, "busy");
  assignment.hold(lane, "asked");
  const before = changes();
  assignment.release(lane, "busy");
  assert.deepEqual(free(), []);
  assignment.release(lane, "asked");
  assert.deepEqual([free(), changes()], [["0@0"], before + 2]);
});

test("a seek frees what strayed, but not what is paused or in hand, and is counted", () => {
  const { assignment, free } = assigned();
  assignment.seek({ ...p0, nextOffset: 0n });
  const lane = assignment.lane(p0)!;
  assignment.hold(lane, "strayed");
  assignment.hold(lane, "asked");
  assignment.seek({ ...p0, nextOffset: 7n });
  assert.deepEqual([[...lane.holds], lane.seeks, free()], [["asked"], 2, []]);
});

test("a pause and a resume of what is not assigned change nothing", () => {
  const { assignment, free } = assigned();
  assignment.seek({ ...p0, nextOffset: 0n });
  const elsewhere = [{ topic: "other", partition: 0 }];
  assignment.pause(elsewhere);
  assert.deepEqual(free(), ["0@0"]);
  assignment.pause([p0, ...elsewhere]);
  assert.deepEqual(free(), []);
  assignment.resume([p0, ...elsewhere]);
  assert.deepEqual(free(), ["0@0"]);
});

test("lanes of an older generation have no effect", () => {
  const { assignment, free, changes } = assigned();
  const old = assignment.lane(p0)!;
  assert.equal(assignment.end(), 1);
  assert.equal(assignment.end(), null);
  assert.equal(assignment.generation, null);
  assert.equal(assignment.begin([p0]), 2);
  const before = changes();
  assignment.release(old, "unstarted");
  assignment.hold(old, "busy");
  assert.deepEqual([[...assignment.lane(p0)!.holds], changes(), free()], [["unstarted"], before, []]);
  assignment.seek({ ...p1, nextOffset: 1n });
  assert.equal(changes(), before, "it is not assigned any more");
});
