import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { createAnswerMemory } from "./answer-memory.ts";
import { answerAssembler, socketsWith, wholeAnswers } from "./whole-answers.ts";

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
        const assembler = answerAssembler((answer) => void answers.push(answer), createAnswerMemory(0));
        const all = Buffer.concat(bodies.map(framed));
        for (let at = 0; at < all.length; ) {
          const size = all.copy(assembler.room(), 0, at, at + sizes.next().value!);
          assembler.took(size);
          at += size;
        }
        assert.deepEqual(answers, bodies.map(framed));
      },
    ),
  );
});

test("large answers and small ones, read straight into their place and not, each given back once it was looked at", () => {
  const small = fc.constantFrom(0, 1, 7, 60_000, 65_535, 65_536);
  const large = fc.integer({ min: 65_532, max: 400_000 });
  fc.assert(
    fc.property(
      fc.array(fc.oneof(small, large), { minLength: 1, maxLength: 6 }),
      fc.infiniteStream(fc.integer({ min: 1, max: 150_000 })),
      (lengths, sizes) => {
        const memory = createAnswerMemory(300_000);
        const bodies = lengths.map((length, n) => Buffer.alloc(length, n + 1));
        let seen = 0;
        const assembler = answerAssembler((answer) => {
          assert.ok(answer.equals(framed(bodies[seen]!)), `answer ${seen} of ${lengths}`);
          seen++;
          answer.fill(0xee);
          memory.giveBack(answer);
        }, memory);
        const all = Buffer.concat(bodies.map(framed));
        for (let at = 0; at < all.length; ) {
          const size = all.copy(assembler.room(), 0, at, at + sizes.next().value!);
          assembler.took(size);
          at += size;
        }
        assert.equal(seen, bodies.length);
      },
    ),
    { numRuns: 50 },
  );
});

async function listening(t: TestContext, server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return (server.address() as { port: number }).port;
}

test("a socket hands over what it reads as whole answers, and tells when the other side has ended", async (t) => {
  const body = Buffer.alloc(1_000_000, "x");
  const server = createServer((socket) => {
    const bytes = Buffer.concat([framed(body), framed(Buffer.from("y"))]);
    socket.write(bytes.subarray(0, 700_001));
    setImmediate(() => socket.end(bytes.subarray(700_001)));
  });
  const port = await listening(t, server);
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

test("memory that is given back holds the next answers of a socket, and what is kept stays as it is", async (t) => {
  const bodies = Array.from({ length: 8 }, (_, n) => Buffer.alloc(500_000 + n, n + 1));
  const server = createServer((socket) => void socket.end(Buffer.concat(bodies.map(framed))));
  const port = await listening(t, server);
  const memory = createAnswerMemory(1 << 20);
  const kept: Buffer[] = [];
  const places = new Set<ArrayBufferLike>();
  const socket = socketsWith(memory)({
    ...{ host: "127.0.0.1", port, ssl: undefined as never, onConnect() {} },
  }) as Socket;
  socket.on("data", (answer: Buffer) => {
    assert.ok(answer.equals(framed(bodies[answer[4]! - 1]!)));
    if (kept.length < 2) kept.push(answer);
    else {
      places.add(answer.buffer);
      answer.fill(0xee);
      memory.giveBack(answer);
    }
  });
  await once(socket, "end");
  assert.deepEqual(kept, bodies.slice(0, 2).map(framed));
  assert.equal(places.size, 1);
});
