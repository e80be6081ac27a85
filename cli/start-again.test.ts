import assert from "node:assert/strict";
import { test } from "node:test";
import { startAgain } from "./start-again.ts";

const NPM = { npm_lifecycle_event: "start" };

test("a lab is started again as it was started, flags included", () => {
  assert.equal(startAgain([], {}), "lab up");
  assert.equal(startAgain([], NPM), "npm start");
  assert.equal(startAgain(["--store", "s3://lab/tables"], {}), "lab up --store s3://lab/tables");
  assert.equal(startAgain(["--store", "s3://lab/tables"], NPM), "npm start -- --store s3://lab/tables");
});

test("words that a shell would take apart are quoted", () => {
  assert.equal(
    startAgain(["--data", "my lab", "--s3-secret=it's $1"], {}),
    "lab up --data 'my lab' '--s3-secret=it'\\''s $1'",
  );
  assert.equal(startAgain(["--data", ""], {}), "lab up --data ''");
});
