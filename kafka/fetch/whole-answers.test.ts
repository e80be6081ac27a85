import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { answerAssembler, wholeAnswers } from "./whole-answers.ts";

function framed(body: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}

test("answers come whole and in order, however the bytes of the connection are cut, empty ones among them", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 8 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 30 })),
      (bodies, sizes) => {
        const answers: Buffer[] = [];
        const take = answerAssembler((answer) => void answers.push(answer));
        const all = Buffer.concat(bodies.map(framed));
        // The same memory for each read, as a socket does it.
        const read = Buffer.alloc(64);
        for (let at = 0; at < all.length; ) {
          const size = all.copy(read, 0, at, at + sizes.next().value!);
          take(read, size);
          at += size;
        }
        assert.deepEqual(answers, bodies.map(framed));
      },
    ),
  );
});

test("a socket hands over what it reads as whole answers, and tells when the other side has ended", async (t) => {
  const body = Buffer.alloc(1_000_000, "x");
  const server = createServer((socket) => {
    const bytes = Buffer.concat([framed(body), framed(Buffer.from("y"))]);
    socket.write(bytes.subarray(0, 700_001));
    setImmediate(() => socket.end(bytes.subarray(700_001)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const answers: Buffer[] = [];
  let isConnected = false;
  const socket = wholeAnswers({
    host: "127.0.0.1",
    port,
    ssl: undefined as never,
    onConnect() {
      isConnected = true;
    },
  }) as Socket;
  socket.on("data", (answer: Buffer) => void answers.push(answer));
  await once(socket, "end");
  assert.ok(isConnected);
  assert.deepEqual(answers, [framed(body), framed(Buffer.from("y"))]);
});
