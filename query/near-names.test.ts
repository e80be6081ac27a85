import assert from "node:assert/strict";
import { test } from "node:test";
import { nearNames } from "./near-names.ts";

const COMMANDS = ["query", "tables", "history", "show", "diff", "status", "restore", "reset"];

test("a letter too many, too few, another, or two swapped is a slip", () => {
  for (const slip of ["queery", "quey", "quary", "qeury", "QUERY"])
    assert.deepEqual(nearNames(slip, COMMANDS), ["query"], slip);
});

test("two slips are forgiven in a longer name, and none in a word that is another", () => {
  assert.deepEqual(nearNames("hsitroy", COMMANDS), ["history"]);
  assert.deepEqual(nearNames("nothing", COMMANDS), []);
  assert.deepEqual(nearNames("", COMMANDS), []);
});

test("the nearest name is the first", () => {
  assert.deepEqual(nearNames("restor", ["reset", "restore"]), ["restore"]);
  assert.deepEqual(nearNames("order", ["odders", "orders"]), ["orders", "odders"]);
});
