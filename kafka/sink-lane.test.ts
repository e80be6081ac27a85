import assert from "node:assert/strict";
import { test } from "node:test";
import { LabError } from "../core/errors.ts";
import type { OutgoingRecord } from "./ports.ts";
import { createSinkLane } from "./sink-lane.ts";

const outage = new LabError("BROKER_UNREACHABLE", "gone");
const tooLarge = new LabError("MESSAGE_TOO_LARGE", "no");

/** A partition that answers as it is told, and keeps what it took. */
function partition(
  answer: (records: readonly OutgoingRecord[], attempt: number) => LabError | null = () => null,
) {
  const log: (string | null)[] = [];
  const attempts: string[][] = [];
  const closing = new AbortController();
  const told: Error[] = [];
  let isBusy = false;
  const lane = createSinkLane({
    closing: closing.signal,
    onOutage: (error) => void told.push(error),
    async write(records) {
      assert.equal(isBusy, false, "one request at a time");
      isBusy = true;
      await new Promise(setImmediate);
      isBusy = false;
      const values = records.map(({ value }) => value as string | null);
      attempts.push(values.map((value) => value ?? "null"));
      const failure = answer(records, attempts.length);
      if (failure !== null) throw failure;
      log.push(...values);
      return BigInt(log.length - records.length);
    },
  });
  return { lane, log, attempts, closing, told };
}

function slice(...values: string[]) {
  return { records: values.map((value) => ({ key: null, value })), indexes: values.map((_, at) => at * 10) };
}

test("calls go out in order, one request at a time", async () => {
  const { lane, log } = partition();
  const sent = await Promise.all([lane.send(slice("a", "b")), lane.send(slice("c")), lane.send(slice("d"))]);
  assert.deepEqual(log, ["a", "b", "c", "d"]);
  assert.deepEqual(
    sent.map(({ acked }) => acked),
    [[{ baseOffset: 0n, count: 2 }], [{ baseOffset: 2n, count: 1 }], [{ baseOffset: 3n, count: 1 }]],
  );
});

test("an outage is waited out with the very same request, and nothing overtakes it", async () => {
  const { lane, log, attempts, told } = partition((_, attempt) => (attempt < 3 ? outage : null));
  const both = [lane.send(slice("a", "b")), lane.send(slice("c"))];
  await Promise.all(both);
  assert.deepEqual(attempts, [["a", "b"], ["a", "b"], ["a", "b"], ["c"]]);
  assert.deepEqual(log, ["a", "b", "c"]);
  assert.equal(told.length, 2);
});

test("closing ends the wait, and says so for all that is not acknowledged", async () => {
  const { lane, closing } = partition(() => outage);
  const both = [lane.send(slice("a")), lane.send(slice("b"))];
  await new Promise((resolve) => setTimeout(resolve, 20));
  closing.abort(new LabError("BROKER_UNREACHABLE", "closed"));
  for (const { acked, error } of await Promise.all(both)) {
    assert.deepEqual(acked, []);
    assert.equal(error?.code, "BROKER_UNREACHABLE");
  }
});

test("what is too large is found by halving and named; the others are written in order", async () => {
  const { lane, log } = partition((records) =>
    records.some(({ value }) => value === "BIG") ? tooLarge : null,
  );
  const { acked, error } = await lane.send(slice("a", "b", "BIG", "c", "BIG", "d"));
  assert.deepEqual(log, ["a", "b", "c", "d"]);
  assert.equal(
    acked.reduce((sum, { count }) => sum + count, 0),
    4,
  );
  assert.equal(error?.code, "MESSAGE_TOO_LARGE");
  assert.deepEqual([error.details.index, error.details.bytes], [20, 3]);
});

test("after a failure that is no outage, nothing later of the call is written", async () => {
  const many = Array.from({ length: 2500 }, (_, n) => String(n));
  const { lane, log } = partition((_, attempt) =>
    attempt === 2 ? new LabError("TOPIC_MISSING", "deleted") : null,
  );
  const { acked, error } = await lane.send(slice(...many));
  assert.equal(error?.code, "TOPIC_MISSING");
  assert.deepEqual([log.length, acked[0]?.count], [1000, 1000]);
});

test("requests stay below what a broker takes by default, each record still one of them", async () => {
  const { lane, attempts } = partition();
  const value = "x".repeat(200_000);
  await lane.send(slice(value, value, value, value, value));
  assert.deepEqual(
    attempts.map((values) => values.length),
    [2, 2, 1],
  );
});

test("a record that would make the broker hang up is refused without being sent", async () => {
  const { lane, attempts } = partition();
  const records = [{ key: null, value: Buffer.alloc(97 * 1024 * 1024) }];
  const { error } = await lane.send({ records, indexes: [0] });
  assert.equal(error?.code, "MESSAGE_TOO_LARGE");
  assert.deepEqual(attempts, []);
});
