import assert from "node:assert/strict";
import { test } from "node:test";
import type { Connection } from "../cluster.ts";
import { handOverWhole } from "./hand-over.ts";

function connection() {
  const fulfilled: { correlationId: number; payload: Buffer; size: number }[] = [];
  const processed: Buffer[] = [];
  const made: Connection = {
    processData(bytes) {
      assert.equal(this, made);
      processed.push(bytes);
    },
    authHandlers: null,
    requestQueue: { fulfillRequest: (response) => void fulfilled.push(response) },
  };
  return { made, fulfilled, processed };
}

/** Length, correlation id, and what is behind. */
function answer(correlationId: number, body: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt32BE(4 + body.length, 0);
  head.writeInt32BE(correlationId, 4);
  return Buffer.concat([head, Buffer.from(body)]);
}

test("an answer is handed to who waits for it as it lies, without a copy, and once", () => {
  const { made, fulfilled, processed } = connection();
  for (let times = 0; times < 3; times++) handOverWhole({ connectionPool: { pool: [made] } as never });
  const bytes = answer(7, "records");
  made.processData(bytes);
  assert.deepEqual(fulfilled, [{ correlationId: 7, payload: Buffer.from("records"), size: 11 }]);
  assert.equal(fulfilled[0]!.payload.buffer, bytes.buffer);
  assert.equal(fulfilled[0]!.payload.byteOffset, bytes.byteOffset + 8);
  assert.deepEqual(processed, []);
});

test("what comes while a connection authenticates is the client's own", () => {
  const { made, fulfilled, processed } = connection();
  handOverWhole({ connectionPool: { pool: [made] } as never });
  made.authHandlers = {};
  made.processData(answer(1, "token"));
  made.authHandlers = null;
  made.processData(answer(2, "x"));
  assert.deepEqual(processed, [answer(1, "token")]);
  assert.deepEqual(
    fulfilled.map(({ correlationId }) => correlationId),
    [2],
  );
});
