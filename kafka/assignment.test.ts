import assert from "node:assert/strict";
import { test } from "node:test";
import { createAssignment, type Gate } from "./assignment.ts";

const p0 = { topic: "t", partition: 0 };
const p1 = { topic: "t", partition: 1 };

/** A client that notes what it is told, and which partitions are open. */
function recorder() {
  const open = new Set<number>();
  const moves: string[] = [];
  const gate: Gate = {
    open: ({ partition }) => void open.add(partition),
    shut: ({ partition }) => void open.delete(partition),
    move: ({ partition, nextOffset }) => void moves.push(`${partition}@${nextOffset}`),
  };
  return { gate, open, moves };
}

test("all partitions are shut until each has its position", () => {
  const { gate, open, moves } = recorder();
  const assignment = createAssignment();
  assert.equal(assignment.begin([p0, p1], gate), 1);
  assert.deepEqual([...open], []);
  assignment.seek({ ...p1, nextOffset: 5n });
  assert.deepEqual([[...open], moves], [[1], ["1@5"]]);
});

test("a lane opens only when the last hold is released, and shuts once", () => {
  const { gate, open } = recorder();
  const assignment = createAssignment();
  assignment.begin([p0], gate);
  assignment.seek({ ...p0, nextOffset: 0n });
  const lane = assignment.lane(p0)!;
  assignment.hold(lane, "busy");
  assignment.hold(lane, "asked");
  assignment.release(lane, "busy");
  assert.deepEqual([...open], []);
  assignment.release(lane, "asked");
  assert.deepEqual([...open], [0]);
});

test("a seek frees what strayed, but not what is paused or in hand", () => {
  const { gate, open } = recorder();
  const assignment = createAssignment();
  assignment.begin([p0], gate);
  assignment.seek({ ...p0, nextOffset: 0n });
  const lane = assignment.lane(p0)!;
  assignment.hold(lane, "strayed");
  assignment.hold(lane, "asked");
  assignment.seek({ ...p0, nextOffset: 7n });
  assert.deepEqual([[...lane.holds], [...open]], [["asked"], []]);
});

test("what was read up to moves the position and frees nothing", () => {
  const { gate, open, moves } = recorder();
  const assignment = createAssignment();
  assignment.begin([p0], gate);
  const lane = assignment.lane(p0)!;
  assignment.advance(lane, 9n);
  assert.deepEqual([lane.nextOffset, lane.seeks, moves, [...open]], [9n, 0, ["0@9"], []]);
});

test("lanes of an older generation have no effect on the client", () => {
  const { gate, open, moves } = recorder();
  const assignment = createAssignment();
  assignment.begin([p0], gate);
  const old = assignment.lane(p0)!;
  assert.equal(assignment.end(), 1);
  assert.equal(assignment.end(), null);
  assert.equal(assignment.generation, null);
  assert.equal(assignment.begin([p0], gate), 2);
  assignment.release(old, "unstarted");
  assignment.advance(old, 3n);
  assignment.hold(old, "busy");
  assert.deepEqual([[...open], moves, [...assignment.lane(p0)!.holds]], [[], [], ["unstarted"]]);
  assignment.seek({ ...p1, nextOffset: 1n });
  assert.deepEqual(moves, []);
});
