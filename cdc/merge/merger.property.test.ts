/** Whatever comes again, in whatever order and cut into whatever batches: the table is what the history came to. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { mergeTable, remove, truncate, upsert } from "../../test/support/merge-table.ts";
import { seeded } from "../../test/support/seeded.ts";
import type { Change, Truncate } from "../change.ts";
import { isAside } from "./aside.ts";

const RUNS = Number(process.env.LAB_PROPERTY_RUNS ?? 8);

type Event = { id: number; kind: "upsert" | "delete" | "truncate"; p: string };

const events = fc.array(
  fc.record({
    id: fc.integer({ min: 1, max: 6 }),
    kind: fc.constantFrom<Event["kind"]>("upsert", "upsert", "upsert", "delete", "delete", "truncate"),
    p: fc.constantFrom("a", "b"),
  }),
  { minLength: 1, maxLength: 25 },
);

/** What is delivered: places in the history, some of them several times, in parts. */
const deliveries = fc.array(fc.array(fc.nat(999), { minLength: 1, maxLength: 12 }), { maxLength: 6 });

/** The history as a database would have it: position i is event i. */
function changesOf(history: readonly Event[]): (Change | Truncate)[] {
  return history.map(({ id, kind, p }, i) => {
    const order = { at: i + 1, offset: i };
    if (kind === "truncate") return truncate(order);
    return kind === "delete" ? remove({ id }, order) : upsert({ id, p, v: i }, order);
  });
}

function outcome(history: readonly Event[]): Record<string, unknown>[] {
  const rows = new Map<number, Record<string, unknown>>();
  for (const [i, { id, kind, p }] of history.entries())
    if (kind === "truncate") rows.clear();
    else if (kind === "delete") rows.delete(id);
    else rows.set(id, { id, p, v: i });
  return [...rows.values()].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** Every event is delivered at least once, in parts: at random places of what is delivered again and again. */
function batchesOf(history: readonly Event[], again: readonly (readonly number[])[], seed: number) {
  const changes = changesOf(history);
  const left = changes.map((_, i) => i);
  const batches: number[][] = again.map((batch) => batch.map((n) => n % changes.length));
  const random = seeded(seed);
  const next = (below: number) => Math.floor(random() * below);
  while (left.length > 0) {
    const [i] = left.splice(next(left.length), 1);
    if (batches.length === 0 || next(3) === 0) batches.splice(next(batches.length + 1), 0, []);
    batches[next(batches.length)]!.push(i!);
  }
  // Kafka gives each delivery an offset of its own.
  let offset = 1000n;
  return batches.map((batch) =>
    batch.map((i): Change | Truncate => ({
      ...changes[i]!,
      place: { partition: 0, offset: offset++, generation: 0 },
    })),
  );
}

function isTheSameInAnyOrder(
  t: TestContext,
  options: {
    partitionColumns?: readonly string[];
    configuration?: Record<string, string>;
    compactEvery?: number;
    indexBytes?: number;
  },
): Promise<void> {
  const { compactEvery = 0, indexBytes = 2 ** 30, ...table } = options;
  return fc.assert(
    fc.asyncProperty(events, deliveries, fc.nat(2 ** 31 - 1), async (history, again, seed) => {
      const columns = { id: "long", p: "string", v: "long" } as const;
      const one = await mergeTable(t, columns, { ...table, merger: { compactEvery, indexBytes } });
      const batches = batchesOf(history, again, seed);
      for (const batch of batches) if (batch.length > 0) await one.merge(batch);
      assert.deepEqual(await one.live(), outcome(history));
      // Other readers see what is stored.
      if (isAside(await one.snapshot())) assert.equal((await one.rows()).length, outcome(history).length);
      await one.close();
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
}

test("with deletion vectors", (t) => isTheSameInAnyOrder(t, {}));

test("where files are written again", (t) =>
  isTheSameInAnyOrder(t, { configuration: { "delta.enableDeletionVectors": "false" } }));

test("where rows move between partitions, and small files are joined in between", (t) =>
  isTheSameInAnyOrder(t, { partitionColumns: ["p"], compactEvery: 2 }));

const ASIDE = { "lab.cdc.deletes": "aside" };

test("where deleted keys are kept aside", (t) => isTheSameInAnyOrder(t, { configuration: ASIDE }));

test("where deleted keys are kept aside and keys are looked up, in partitions", (t) =>
  isTheSameInAnyOrder(t, {
    ...{ configuration: ASIDE, partitionColumns: ["p"], compactEvery: 3, indexBytes: 0 },
  }));

test("where keys are looked up instead of held, and rows move between partitions", (t) =>
  isTheSameInAnyOrder(t, { partitionColumns: ["p"], compactEvery: 2, indexBytes: 0 }));
