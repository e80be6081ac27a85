import assert from "node:assert/strict";
import { test } from "node:test";
import { LabError } from "../core/errors.ts";
import { withRights } from "./rights.ts";

const stream = { topic: "orders", group: "lab.orders.1234" };

test("a refusal names all that the stream needs, and keeps what it said", () => {
  const refused = new LabError("KAFKA_DENIED", "User:alice lacks DESCRIBE on topic orders", {
    hint: "allow it: kafka-acls ...",
    details: { missing: "DESCRIBE on topic orders" },
  });
  const told = withRights(refused, stream);
  assert.equal(told.message, refused.message);
  assert.deepEqual(told.details, refused.details);
  assert.equal(
    told.hint,
    "a stream needs READ on topic orders and READ on group lab.orders.1234; allow it: kafka-acls ...",
  );
});

test("other errors, and a refused password, stay as they are", () => {
  for (const error of [new LabError("KAFKA_DENIED", "no"), new LabError("BROKER_UNREACHABLE", "away")])
    assert.equal(withRights(error, stream), error);
});
