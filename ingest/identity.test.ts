import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { type AppIdForm, appId, formOf } from "./identity.ts";

const form = (txnIds: string[], asked?: AppIdForm) => formOf({ app: "lab", topic: "t", asked, txnIds });
const refused = (txnIds: string[], asked: AppIdForm | undefined, code: string, hint: RegExp) =>
  assert.throws(
    () => form(txnIds, asked),
    (error) => {
      assert.ok(isLabError(error) && error.code === code, String(error));
      assert.match(error.hint ?? "", hint);
      return true;
    },
  );

test("the txn id of a partition names its topic, or not as kafka-delta-ingest", () => {
  assert.equal(appId("lab", "t", 3), "lab/t-3");
  assert.equal(appId("lab", "t", 3, "kdi"), "lab-3");
});

test("a table without positions takes the form that is asked for", () => {
  const others = ["lab/upkeep/optimize", "lab/dlq-replay", "3f2a-1", "0f8fad5b-d9cb-469f-a165-123456789012"];
  assert.equal(form([]), "lab");
  assert.equal(form([], "kdi"), "kdi");
  assert.equal(form(others), "lab");
  assert.equal(form(["0f8fad5b-d9cb-469f-a165-123456789012"], "kdi"), "kdi");
});

test("a form is read from the positions that are there, also those of one partition", () => {
  assert.equal(form(["lab/t-0"]), "lab");
  assert.equal(form(["lab/t-0", "lab/u-0"], "lab"), "lab");
  assert.equal(form(["lab-1"], "kdi"), "kdi");
  assert.equal(form(["lab-1", "other/t-0"], "kdi"), "kdi");
});

test("a form without topic is never taken for granted", () => {
  refused(["lab-0"], undefined, "OFFSETS_FOREIGN", /--app-id-form kdi/);
  refused(["lab-0"], "lab", "OFFSETS_FOREIGN", /another --app/);
});

test("taking over is refused where positions are ours already, another topic's, or another app's", () => {
  refused(["lab/t-0"], "kdi", "OFFSETS_FOREIGN", /leave --app-id-form out/);
  refused(["lab-0", "lab/u-0"], "kdi", "OFFSETS_FOREIGN", /another table/);
  refused(["lab-0", "other/u-7-2"], "kdi", "OFFSETS_FOREIGN", /another table/);
  refused(["orders-daily-0", "orders-daily-1"], "kdi", "OFFSETS_MISSING", /orders-daily$/);
});
