import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isNameable, routedUri } from "./route-name.ts";

const nameOf = (value: string | null) =>
  routedUri("s3://lake/tables/orders", value).slice("s3://lake/tables/".length);

test("a value names its table, other characters escaped by their bytes", () => {
  assert.equal(nameOf("de"), "orders__de");
  assert.equal(nameOf("DE"), "orders__DE");
  assert.equal(nameOf("a-b/c d"), "orders__a_x2Db_x2Fc_x20d");
  assert.equal(nameOf("\u00e9"), "orders___xC3_xA9");
  assert.equal(nameOf("new_york"), "orders__new_york");
});

test("no value, an empty one and the word null have names of their own", () => {
  assert.equal(nameOf(null), "orders__null");
  assert.equal(nameOf("null"), "orders___x6Eull");
  assert.equal(nameOf(""), "orders___x");
});

test("no value takes the name of a dead-letter table, or leads out of the store", () => {
  assert.equal(nameOf("dead_letters"), "orders___x64ead_letters");
  assert.equal(nameOf("dead_letters_state"), "orders___x64ead_letters_state");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (value) => /^orders__[A-Za-z0-9_]+$/.test(nameOf(value))),
  );
});

test("different values have different names", () => {
  const value = fc.option(
    fc.string({ unit: fc.constantFrom("_", "x", "X", "5", "F", "-", "/", "n", "\u00e9", "\0") }),
  );
  fc.assert(
    fc.property(value, value, (one, other) => {
      assert.equal(nameOf(one) === nameOf(other), one === other);
    }),
  );
});

test("a name that no file system takes is known before it is tried", () => {
  assert.equal(isNameable("file:///t/orders", "x".repeat(200)), true);
  assert.equal(isNameable("file:///t/orders", "x".repeat(248)), false);
  assert.equal(isNameable("file:///t/orders", "\u00e9".repeat(50)), false);
});
