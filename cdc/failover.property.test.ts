/** Servers of MySQL that take over from each other, and a connector that goes along: no change is lost, and a row that should be gone is told of. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { OutgoingRecord } from "../kafka/ports.ts";
import { message } from "../test/support/cdc-stream.ts";
import type { Change, Order, Truncate } from "./change.ts";
import { createDebeziumDecoder } from "./debezium.ts";
import { fold } from "./fold.ts";
import { decide } from "./merge/decide.ts";
import { joined } from "./merge/remembered.ts";
import { compareOrder, positionAfter } from "./position.ts";

const SERVERS = [7, 8, 9] as const;
const KEYS = [1, 2, 3];

const server = fc.nat(SERVERS.length - 1);
/**
 * `promote`: another server is the one that takes writes. `reconnect`: the connector reads another server's binlog, or the same again, from so many
 * events before where it was. `snapshot`: it takes one, and where it was away has not read what came before. `blocking`: it is asked for one, and sends
 * again what that has seen.
 */
const step = fc.oneof(
  fc.record({
    do: fc.constant("write" as const),
    id: fc.constantFrom(...KEYS),
    isDelete: fc.boolean(),
    waitMs: fc.constantFrom(0, 900, 20_000, 300_000),
    isSeen: fc.boolean(),
  }),
  fc.record({ do: fc.constant("promote" as const), to: server }),
  fc.record({ do: fc.constant("reconnect" as const), to: server, back: fc.nat(4) }),
  fc.record({ do: fc.constant("snapshot" as const), to: server, isAway: fc.boolean() }),
  fc.record({ do: fc.constant("blocking" as const) }),
);

const world = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
  hasIds: fc.boolean(),
  /** Where the binlog of each server stands at first. */
  starts: fc.tuple(fc.nat(3), fc.nat(3), fc.nat(3)),
  /** Of each server's clock, and of the connector's. */
  skewsMs: fc.array(fc.integer({ min: -20_000, max: 20_000 }), { minLength: 4, maxLength: 4 }),
  batches: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
});

const FIRST = { do: "write" as const, id: 9, isDelete: false, waitMs: 0, isSeen: true };

type Written = { id: number; isDelete: boolean; origin: number; number: number; atMs: number };

/** What the connector sends, in Kafka's order, and what the database holds in the end. */
function told({ steps, hasIds, starts, skewsMs }: typeof world extends fc.Arbitrary<infer W> ? W : never) {
  const log: Written[] = [];
  const numbers = [0, 0, 0];
  let [primary, reading, next, nowMs] = [0, 0, 0, 1_700_000_000_000];
  /** What a connector kept of a snapshot is where that stood. */
  let floor = 0;
  const sent: OutgoingRecord[] = [];
  const at = (place: number) => ({
    ...{
      connector: "mysql",
      name: "shop",
      db: "shop",
      table: "t",
      file: `bin.00000${starts[reading]! + 1}`,
      row: 0,
    },
    pos: 100 * (place + 1),
  });
  const stream = () => {
    for (; next < log.length; next++) {
      const { id, isDelete, origin, number, atMs } = log[next]!;
      const gtid = hasIds ? { gtid: `uuid-${origin}:${number}` } : {};
      const source = { ...at(next), server_id: SERVERS[origin], ...gtid, ts_ms: atMs + skewsMs[origin]! };
      sent.push(message(isDelete ? "d" : "u", id, isDelete ? null : { v: next }, source));
    }
  };
  const held = () => {
    const rows = new Map<number, number>();
    for (const [n, { id, isDelete }] of log.entries()) isDelete ? rows.delete(id) : rows.set(id, n);
    return rows;
  };
  const snapshot = () => {
    const rows = [...held()];
    for (const [n, [id, v]] of rows.entries()) {
      const mark = n === rows.length - 1 ? "last" : "true";
      const source = { ...at(log.length), server_id: 0, snapshot: mark, ts_ms: nowMs + skewsMs[3]! };
      sent.push(message("r", id, { v }, source));
    }
  };
  // A table without rows ends no snapshot.
  for (const one of [FIRST, ...steps]) {
    if (one.do === "write") {
      nowMs += one.waitMs;
      numbers[primary]!++;
      log.push({ ...one, origin: primary, number: numbers[primary]!, atMs: nowMs });
      if (!one.isSeen) continue;
    }
    if (one.do === "promote") primary = one.to;
    if (one.do === "reconnect") {
      stream();
      if (hasIds) reading = one.to;
      next = Math.max(floor, next - one.back);
    }
    if (one.do === "snapshot") {
      if (!one.isAway) stream();
      // Without the transactions' numbers another server is nothing that a connector can go to in a moment.
      if (!hasIds) nowMs += 300_000;
      reading = one.to;
      snapshot();
      next = floor = log.length;
    }
    // The stream waits meanwhile, and goes on where it was.
    if (one.do === "blocking") snapshot();
    stream();
  }
  stream();
  return { sent, held: held() };
}

type Row = Order & { isDeleted: boolean; missing: readonly string[]; v: unknown };

/** What a table comes to by the rules of a merge, without one. */
function merged(sent: readonly OutgoingRecord[], sizes: readonly number[]) {
  const decoder = createDebeziumDecoder({ sweep: true });
  const rows = new Map<string, Row>();
  let truncates: readonly Order[] = [];
  let uncertain = 0;
  for (let from = 0, n = 0; from < sent.length; n++) {
    const size = sizes[n % sizes.length]!;
    const changes: Change[] = [];
    const sweeps: Truncate[] = [];
    for (const [i, { key, value }] of sent.slice(from, from + size).entries()) {
      const place = { partition: 0, offset: BigInt(from + i), generation: 0, timestampMs: 0, headers: [] };
      const decoded = decoder.decode({
        ...{ ...place, key: Buffer.from(key as string), value: Buffer.from(value as string) },
      });
      assert.ok("changes" in decoded);
      changes.push(...decoded.changes);
      if (decoded.sweep && decoded.sweep !== "unknown") sweeps.push(decoded.sweep);
    }
    from += size;
    const folded = fold(changes, sweeps);
    uncertain += folded.uncertain;
    truncates = joined(truncates, folded.truncates);
    const met = new Set<string>();
    for (const change of folded.changes) {
      const stored = rows.get(change.key);
      if (stored && !compareOrder(change, stored).isCertain) uncertain++;
      const order = stored && { position: stored.position, place: stored.place };
      const verdict = decide(change, stored && { ...stored, order: order! }, {
        ...{ truncates, purged: [], kept: [] },
      });
      if (verdict.kind === "write" || stored) met.add(change.key);
      if (verdict.kind !== "write") continue;
      const { v } = JSON.parse(Buffer.from(change.row).toString()) as { v?: unknown };
      const position = positionAfter(stored ?? null, change);
      rows.set(change.key, {
        ...{ position, place: change.place, isDeleted: change.kind === "delete", missing: [], v },
      });
    }
    for (const [key, row] of rows) {
      if (met.has(key)) continue;
      const orders = folded.truncates.map((sweep) => compareOrder(row, sweep));
      if (orders.some(({ order, isCertain }) => isCertain && order < 0)) rows.delete(key);
      else uncertain += orders.filter(({ isCertain }) => !isCertain).length;
    }
  }
  const live = [...rows].filter(([, { isDeleted }]) => !isDeleted);
  return {
    rows: new Map(live.map(([key, { v }]) => [(JSON.parse(key) as number[])[0]!, v as number])),
    uncertain,
  };
}

const RUNS = Number(process.env.LAB_PROPERTY_RUNS ?? 1500);

test("whatever servers take over, no change is lost, and a row that stays though it is gone is told of", () => {
  fc.assert(
    fc.property(world, (one) => {
      const { sent, held } = told(one);
      const { rows, uncertain } = merged(sent, one.batches);
      for (const [id, v] of held) assert.equal(rows.get(id), v, `key ${id}`);
      for (const id of rows.keys()) if (!held.has(id)) assert.ok(uncertain > 0, `key ${id} stays`);
    }),
    { numRuns: RUNS },
  );
});
