import assert from "node:assert/strict";
import { test } from "node:test";
import { EVENT_SIZES, type EventSize, eventSource, eventTimeMs } from "./events.ts";

/** Of the Java generator, but for 3k, which it does not have. */
const AVERAGE: Record<EventSize, number> = { tiny: 104, "1k": 978, "2k": 2193, "3k": 3000 };

for (const size of EVENT_SIZES) {
  test(`events of ${size} are JSON of the size they are named after, and the same for the same seed`, () => {
    const [event, again, other] = [eventSource(3, size), eventSource(3, size), eventSource(4, size)];
    let [bytes, others] = [0, 0];
    for (let index = 0; index < 2_000; index++) {
      const text = event(index);
      assert.equal(again(index), text);
      if (other(index) !== text) others += 1;
      bytes += Buffer.byteLength(text);
      const parsed = JSON.parse(text);
      if (size === "tiny") assert.deepEqual(Object.keys(parsed), ["Key1", "Key2", "Key3", "Key4"]);
      else {
        assert.equal(parsed.seq, index);
        assert.equal(parsed.timestamp, new Date(eventTimeMs(index)).toISOString());
      }
    }
    assert.equal(others, 2_000);
    const share = bytes / 2_000 / AVERAGE[size];
    assert.ok(share > 0.98 && share < 1.02, `${bytes / 2_000} bytes on average`);
  });
}

test("a million events lie on one date", () => {
  const day = (index: number) => new Date(eventTimeMs(index)).toISOString().slice(0, 10);
  assert.equal(day(0), day(999_999));
});
