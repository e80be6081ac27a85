import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { AUDIT_HEADER, addChecksums, encodeStamp, messageChecksum, windowOf } from "../audit/header.ts";
import { auditInfos, createAuditCounts, sumAuditCounts } from "./audit-counts.ts";

const NOON = Date.UTC(2026, 10, 29, 12);

function message(origin: string, windowSequence: number, eventTimeMs = NOON) {
  const stamp = encodeStamp({
    ...{ origin, epoch: 7, host: "here", eventTimeMs },
    ...{ sequence: windowSequence, windowSequence },
  });
  const headers = [["other", null] as const, [AUDIT_HEADER, stamp] as const];
  return { headers, value: Buffer.from(`${windowSequence}`), timestampMs: NOON + 86_400_000 };
}

test("messages count in the window of their event, by origin and run; letters among them", () => {
  const counts = createAuditCounts();
  for (const one of [message("a", 0), message("a", 1), message("a", 2, NOON + 300_000), message("b", 0)])
    counts.received(one);
  counts.lettered(message("a", 1));
  const [a, b] = auditInfos("t", [counts]);
  assert.deepEqual(
    a?.windows.map(({ start, received, letters }) => [start, received, letters]),
    [
      [NOON, 2, 1],
      [NOON + 300_000, 1, 0],
    ],
  );
  assert.deepEqual([a?.topic, a?.origin, a?.epoch, b?.origin], ["t", "a", 7, "b"]);
  const sum = addChecksums(messageChecksum(0, "0"), messageChecksum(1, "1"));
  assert.equal(a?.windows[0]?.checksum, sum);
  assert.deepEqual(
    a?.windows.map(({ last }) => last),
    [1, 2],
  );
});

test("a message without a stamp, or with a broken one, is nobody's, in the window of its Kafka time", () => {
  const counts = createAuditCounts();
  const bare = { headers: [], value: null, timestampMs: NOON + 1 };
  const broken = { ...bare, headers: [[AUDIT_HEADER, Buffer.from("?")] as const] };
  for (const one of [bare, broken, message("a", 0)]) counts.received(one);
  const nobody = auditInfos("t", [counts]).find(({ origin }) => origin === "");
  assert.deepEqual(nobody?.windows, [{ start: NOON, received: 2, letters: 0, checksum: 0, last: -1 }]);
});

test("a topic that nobody stamps is not spoken of", () => {
  const counts = createAuditCounts();
  for (let n = 0; n < 9; n++) counts.received({ headers: [], value: null, timestampMs: NOON + n * 300_000 });
  assert.deepEqual(auditInfos("t", [counts]), []);
});

test("pairs are those that a commit tells apart, and windows of messages without a stamp are among them", () => {
  const counts = createAuditCounts();
  const bare = { headers: [], value: null, timestampMs: NOON + 1 };
  counts.received(bare);
  assert.deepEqual([counts.size, counts.pairs().length, counts.hasStamps], [1, 1, false]);
  for (const one of [
    bare,
    message("a", 0),
    message("a", 1),
    message("a", 2, NOON + 300_000),
    message("b", 0),
  ])
    counts.received(one);
  const told = auditInfos("t", [counts]).flatMap(({ windows }) => windows);
  assert.deepEqual([counts.size, new Set(counts.pairs()).size, told.length], [4, 4, 4]);
  assert.equal(counts.hasStamps, true);
});

test("counted in parts or at once, it is the same", () => {
  const messages = fc.array(
    fc.record({ origin: fc.constantFrom("", "a", "b"), at: fc.nat(3), n: fc.nat(99), isBad: fc.boolean() }),
  );
  fc.assert(
    fc.property(messages, fc.nat(20), (all, cut) => {
      const countOf = (some: typeof all) => {
        const counts = createAuditCounts();
        for (const { origin, at, n, isBad } of some) {
          const time = NOON + at * 300_000;
          const one =
            origin === "" ? { headers: [], value: null, timestampMs: time } : message(origin, n, time);
          counts.received(one);
          if (isBad) counts.lettered(one);
        }
        return counts;
      };
      const parts = [countOf(all.slice(0, cut)), countOf(all.slice(cut))];
      const byName = (infos: ReturnType<typeof auditInfos>) =>
        infos.sort((a, b) => a.origin.localeCompare(b.origin));
      const whole = byName(auditInfos("t", [countOf(all)]));
      assert.deepEqual(byName(auditInfos("t", parts)), whole);
      assert.deepEqual(byName(auditInfos("t", [sumAuditCounts(parts)])), whole);
      const settled = whole.flatMap(({ windows }) => windows.map(({ received }) => received));
      const isStamped = all.some(({ origin }) => origin !== "");
      assert.equal(
        settled.reduce((sum, count) => sum + count, 0),
        isStamped ? all.length : 0,
      );
      assert.ok(whole.every(({ windows }) => windows.every(({ start }) => windowOf(start) === start)));
    }),
  );
});
