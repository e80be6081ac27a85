import assert from "node:assert/strict";
import { test } from "node:test";
import { type Customer, customerEvents, customersAfter, customersSource } from "./customers.ts";

const { signal } = new AbortController();

function firstEvents(seed: number, count: number) {
  const events = [];
  for (const event of customerEvents(seed)) {
    events.push(event);
    if (events.length === count) return events;
  }
  throw new Error("the history ended");
}

type Envelope = {
  op: string;
  after: Customer | null;
  source: { snapshot: string; lsn: number; sequence: string };
};
const envelopes = (seed: number, count: number) =>
  firstEvents(seed, count).flatMap(({ message }) =>
    message.value === null ? [] : [JSON.parse(String(message.value)) as Envelope],
  );

test("the same seed gives the same messages from any place on, and another seed others", () => {
  const from = (seed: number, start: number) => {
    const found = [];
    for (const { key, value } of customersSource(seed).messages(start, signal) as Iterable<{
      key: string;
      value: string;
    }>) {
      found.push([key, value]);
      if (found.length === 50) break;
    }
    return found;
  };
  assert.deepEqual(
    from(7, 130),
    firstEvents(7, 180)
      .slice(130)
      .map(({ message }) => [message.key, message.value]),
  );
  assert.notDeepEqual(from(7, 130), from(8, 130));
});

test("a snapshot comes first, and then everything that makes a merge hard", () => {
  const found = envelopes(1, 3_000);
  const snapshots = found.slice(0, 100).map(({ op, source }) => [op, source.snapshot]);
  assert.deepEqual(snapshots[0], ["r", "first"]);
  assert.deepEqual(snapshots.at(-1), ["r", "last"]);
  assert.deepEqual(new Set(found.slice(100).map(({ op }) => op)), new Set(["c", "u", "d"]));
  const stream = found.slice(100);
  assert.ok(stream.some(({ after }) => after?.notes === "__debezium_unavailable_value"));
  assert.ok(
    stream.some(({ after }) => after?.phone !== undefined),
    "a column that comes later",
  );
  const lsns = stream.map(({ source }) => source.lsn);
  assert.ok(
    lsns.some((lsn, n) => n > 0 && lsn < lsns[n - 1]!),
    "positions that interleave",
  );
  const events = firstEvents(1, 3_000);
  const texts = events.map(({ message }) => `${message.key} ${message.value}`);
  assert.ok(events.some(({ message }) => message.headers?.["__debezium.newkey"]));
  assert.ok(new Set(texts).size < texts.length, "messages that are sent again");
  assert.ok(events.some(({ effect }, n) => effect === null && texts.indexOf(texts[n]!) < n));
});

test("no row is set but to what the last message that is no repetition says", () => {
  for (const { message, effect } of firstEvents(3, 2_000)) {
    if (!effect || !("set" in effect)) continue;
    const { after } = JSON.parse(String(message.value)) as Envelope;
    const { notes, ...rest } = effect.set;
    const { notes: told, ...told_rest } = after!;
    assert.deepEqual(told_rest, rest);
    assert.ok(told === notes || told === "__debezium_unavailable_value");
    assert.equal(message.key, JSON.stringify({ id: effect.set.id }));
  }
  const whole = customersAfter(3, 2_000);
  assert.ok(whole.size >= 50);
  for (const [id, customer] of whole) assert.equal(customer.id, id);
});
