import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { checkTransforms } from "./check-transforms.ts";

const { signal } = new AbortController();
const check = (transform?: string) =>
  checkTransforms([{ topic: "orders", ...(transform === undefined ? {} : { transform }) }], signal);

test("a transform that is not row-local, or no SQL, is refused with its topic before anything is read", async () => {
  for (const [sql, reason] of [
    ["SELECT count(*) FROM messages", /count/],
    ["SELECT * FROM messages ORDER BY id", /ORDER BY/],
    ["SELECT *, random() AS r FROM messages", /random/],
    ["SELEC", /syntax/],
  ] as const)
    await assert.rejects(check(sql), (error) => {
      assert.ok(isLabError(error, "TRANSFORM_REFUSED"), String(error));
      assert.match(error.message, /^orders: the transform is refused: /);
      assert.match(error.message, reason);
      return true;
    });
});

test("what depends on the messages' columns is left to be decided when there are any", async () => {
  await check();
  await check("SELECT *, upper(nobody_knows) AS x, current_date AS d FROM messages WHERE id > 3");
});
