/** A snapshot taken again after a connector was away: what it does not have is gone, where that is asked for. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import type { OutgoingRecord } from "../kafka/ports.ts";
import { LIVE, message, source, start, topicOf } from "../test/support/cdc-stream.ts";
import type { Fixture } from "../test/support/stream-fixture.ts";
import type { Merged } from "./work.ts";

const { signal } = new AbortController();

/** A snapshot at a place in the log, as a connector marks its rows. */
function snapshot(
  lsn: number,
  rows: readonly (readonly [id: number, row: Record<string, unknown>])[],
  { end = "last", from = source }: { end?: string; from?: typeof source } = {},
): OutgoingRecord[] {
  return rows.map(([id, row], n) => {
    const mark = n === rows.length - 1 ? end : n === 0 ? "first" : "true";
    // The clock goes on while a snapshot is read.
    return message("r", id, row, from(lsn, { snapshot: mark, ts_ms: 1_700_000_000_000 + lsn * 1000 + n }));
  });
}

const HISTORY = [
  message("c", 1, { v: "one" }, source(1)),
  message("c", 2, { v: "two" }, source(2)),
  message("c", 3, { v: "three" }, source(3)),
];
const AWAY = [message("u", 1, { v: "behind" }, source(21)), message("c", 4, { v: "four" }, source(22))];

const live = (fixture: Fixture) => fixture.rows(`SELECT id, v FROM t WHERE ${LIVE} ORDER BY id`);

test("what a connector did not see deleted stays after its new snapshot, or goes with a sweep, which is told (dbz#7811)", async (t) => {
  for (const sweep of [false, true])
    for (const end of ["last", "last_in_data_collection"]) {
      const fixture = await topicOf(t);
      const told: Merged[] = [];
      const cdc = { sweep, onMerged: (one: Merged) => void told.push(one) };
      fixture.kafka.append("t", 0, HISTORY);
      await start(fixture, { cdc }).ended;
      fixture.kafka.append("t", 0, [
        ...snapshot(
          20,
          [
            [1, { v: "one" }],
            [3, { v: "drei" }],
          ],
          { end },
        ),
        ...AWAY,
      ]);
      await start(fixture, { cdc }).ended;
      const swept = [
        { id: 1n, v: "behind" },
        { id: 3n, v: "drei" },
        { id: 4n, v: "four" },
      ];
      const kept = swept.toSpliced(1, 0, { id: 2n, v: "two" });
      assert.deepEqual(await live(fixture), sweep ? swept : kept);
      const { inserted, updated, deleted, swept: count } = told.at(-1)!;
      assert.deepEqual([inserted, updated, deleted, count], [1, 2, sweep ? 1 : 0, sweep ? 1 : 0]);
      const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
      for await (const { commitInfo } of table.history({ signal, limit: 1 }))
        assert.equal((commitInfo?.lab as { changes?: Merged } | undefined)?.changes?.swept, count);
    }
});

test("a snapshot's rows that are still on their way in another partition come after the sweep, and stay", async (t) => {
  const fixture = await topicOf(t, 2);
  const cdc = { sweep: true };
  const [first, second, third] = HISTORY as [OutgoingRecord, OutgoingRecord, OutgoingRecord];
  fixture.kafka.append("t", 0, [first]);
  fixture.kafka.append("t", 1, [second, third]);
  await start(fixture, { cdc }).ended;
  const [mine, theirs] = snapshot(20, [
    [2, { v: "zwei" }],
    [1, { v: "one" }],
  ]) as [OutgoingRecord, OutgoingRecord];
  fixture.kafka.append("t", 0, [theirs]);
  await start(fixture, { cdc }).ended;
  fixture.kafka.append("t", 1, [mine]);
  await start(fixture, { cdc }).ended;
  assert.deepEqual(await live(fixture), [
    { id: 1n, v: "one" },
    { id: 2n, v: "zwei" },
  ]);
});

test("what comes again from before the snapshot does not bring a swept row back, and neither does the snapshot itself", async (t) => {
  const fixture = await topicOf(t);
  const cdc = { sweep: true };
  const again = snapshot(20, [[1, { v: "one" }]]);
  fixture.kafka.append("t", 0, [...HISTORY, ...again, ...AWAY]);
  await start(fixture, { cdc }).ended;
  const expected = [
    { id: 1n, v: "behind" },
    { id: 4n, v: "four" },
  ];
  assert.deepEqual(await live(fixture), expected);
  for (const part of [HISTORY, again, HISTORY, [...again, ...HISTORY]]) {
    fixture.kafka.append("t", 0, part);
    await start(fixture, { cdc }).ended;
    assert.deepEqual(await live(fixture), expected);
  }
});

test("a row of another server's log is not known to be older, and stays; a snapshot of MySQL sweeps, too", async (t) => {
  const fixture = await topicOf(t);
  const cdc = { sweep: true };
  const binlog = (server: number, pos: number, more: object = {}) => ({
    ...{
      connector: "mysql",
      name: "shop",
      db: "shop",
      table: "t",
      server_id: server,
      file: "bin.000004",
      pos,
      row: 0,
    },
    ...more,
  });
  fixture.kafka.append("t", 0, [
    message("c", 1, { v: "one" }, binlog(7, 100)),
    message("c", 2, { v: "two" }, binlog(7, 200)),
    message("c", 3, { v: "other" }, { ...binlog(8, 50), file: "other.000009" }),
    message("r", 1, { v: "one" }, binlog(0, 300, { snapshot: "last", ts_ms: 5 })),
  ]);
  await start(fixture, { cdc }).ended;
  assert.deepEqual(await live(fixture), [
    { id: 1n, v: "one" },
    { id: 3n, v: "other" },
  ]);
});

for (const afterMs of [2_000, 90_000])
  test(`after a failover to a server whose binlog is shorter no change counts as older than a snapshot or its sweep, ${afterMs} ms after it`, async (t) => {
    const fixture = await topicOf(t);
    const told: Merged[] = [];
    const binlog = (server: number, pos: number, ms: number, more: object = {}) => ({
      ...{
        connector: "mysql",
        name: "shop",
        db: "shop",
        table: "t",
        server_id: server,
        file: `bin.00000${server}`,
        pos,
        row: 0,
      },
      ...{ ts_ms: 1_700_000_000_000 + ms, ...more },
    });
    const taken = { file: "bin.000900", snapshot: "last" };
    const parts = [
      [
        message("c", 3, { v: "gone" }, binlog(7, 1, 0)),
        message("r", 1, { v: "one" }, binlog(0, 300, 9, taken)),
      ],
      [
        message("c", 2, { v: "two" }, binlog(8, 10, afterMs)),
        message("u", 1, { v: "eins" }, binlog(8, 20, afterMs)),
      ],
    ];
    for (const part of parts) {
      fixture.kafka.append("t", 0, part);
      await start(fixture, { cdc: { sweep: true, onMerged: (one) => void told.push(one) } }).ended;
    }
    assert.deepEqual(await live(fixture), [
      { id: 1n, v: "eins" },
      { id: 2n, v: "two" },
    ]);
    // Nothing proves it, and that is told.
    assert.deepEqual(
      told.map(({ uncertain }) => uncertain > 0),
      [false, true],
    );
  });

test("of two snapshots of different servers in a batch the first does not sweep a row that the second has as it was", async (t) => {
  const fixture = await topicOf(t);
  const at = (pos: number, ms: number, more: object) => ({
    ...{
      connector: "mysql",
      name: "shop",
      db: "shop",
      table: "t",
      server_id: 0,
      pos,
      row: 0,
      snapshot: "last",
    },
    ...{ ts_ms: 1_700_000_000_000 + ms, ...more },
  });
  const first = message(
    "c",
    1,
    { v: "one" },
    at(100, 0, { server_id: 7, file: "bin.000001", snapshot: "false" }),
  );
  fixture.kafka.append("t", 0, [first]);
  await start(fixture, { cdc: { sweep: true } }).ended;
  fixture.kafka.append("t", 0, [
    message("r", 1, { v: "one" }, at(50, 90_000, { file: "bin.000002" })),
    message("r", 1, { v: "one" }, at(100, 900_000, { file: "bin.000001" })),
  ]);
  await start(fixture, { cdc: { sweep: true } }).ended;
  assert.deepEqual(await live(fixture), [{ id: 1n, v: "one" }]);
});

test("where a snapshot has no position nothing is swept, and that is told once", async (t) => {
  const fixture = await topicOf(t);
  let warnings = 0;
  const cdc = { sweep: true, onUnswept: () => void warnings++ };
  const nowhere = (_lsn: number, more: object = {}) => ({ ...source(0), lsn: null, sequence: null, ...more });
  const rows = snapshot(20, [[1, { v: "one" }]], { from: nowhere as never });
  fixture.kafka.append("t", 0, [...HISTORY, ...rows, ...rows]);
  await start(fixture, { cdc }).ended;
  assert.equal((await live(fixture)).length, 3);
  assert.equal(warnings, 1);
});

test("a last row that the table cannot take is a letter, and the sweep is made", async (t) => {
  const fixture = await topicOf(t);
  const cdc = { sweep: true };
  fixture.kafka.append("t", 0, [message("c", 1, { v: 1 }, source(1)), message("c", 2, { v: 2 }, source(2))]);
  await start(fixture, { cdc }).ended;
  const rows = snapshot(20, [
    [1, { v: 10 }],
    [5, { v: "no number" }],
  ]);
  fixture.kafka.append("t", 0, rows);
  await start(fixture, { cdc }).ended;
  assert.deepEqual(await live(fixture), [{ id: 1n, v: 10n }]);
  assert.deepEqual(await fixture.rows("SELECT error_code AS code FROM letters", "letters"), [
    { code: "WRONG_TYPE" },
  ]);
});

test("killed at each step of a sweep, it is made once", async (t) => {
  for (const step of ["before-upload", "after-letters", "after-upload", "after-commit"]) {
    const fixture = await topicOf(t);
    const told: Merged[] = [];
    const cdc = { sweep: true, onMerged: (one: Merged) => void told.push(one) };
    fixture.kafka.append("t", 0, HISTORY);
    await start(fixture, { cdc }).ended;
    fixture.kafka.append("t", 0, [...snapshot(20, [[1, { v: "one" }]]), ...AWAY]);
    const killed = start(fixture, {
      cdc,
      more: {
        onStep(now) {
          if (now === step) throw new Error("killed");
        },
      },
    });
    await assert.rejects(killed.ended, /killed/);
    await start(fixture, { cdc }).ended;
    assert.deepEqual(
      await live(fixture),
      [
        { id: 1n, v: "behind" },
        { id: 4n, v: "four" },
      ],
      step,
    );
    const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
    let committed = 0;
    for await (const { commitInfo } of table.history({ signal }))
      committed += (commitInfo?.lab as { changes?: Merged } | undefined)?.changes?.swept ?? 0;
    assert.equal(committed, 2, step);
    const counted = told.reduce((sum, { swept }) => sum + swept, 0);
    assert.equal(counted, step === "after-commit" ? 0 : 2, step);
  }
});

const RUNS = Number(process.env.LAB_PROPERTY_RUNS ?? 6);

type Event = { id: number; kind: "upsert" | "delete" | "snapshot"; isSeen: boolean };

test("whatever a connector missed before its last snapshot, the table is what the database holds, in whatever parts it comes", (t) => {
  const events = fc.array(
    fc.record({
      id: fc.integer({ min: 1, max: 5 }),
      kind: fc.constantFrom<Event["kind"]>("upsert", "upsert", "upsert", "delete", "delete", "snapshot"),
      isSeen: fc.boolean(),
    }),
    { maxLength: 20 },
  );
  const parts = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 6 });
  return fc.assert(
    fc.asyncProperty(events, parts, async (history, sizes) => {
      const held = new Map<number, number>();
      const sent: OutgoingRecord[][] = [[], []];
      const send = (id: number, one: OutgoingRecord) => sent[id % 2]!.push(one);
      // An empty table's snapshot tells nothing, so there is always one row.
      const all: Event[] = [...history, { id: 9, kind: "upsert", isSeen: false }];
      for (const [at, { id, kind, isSeen }] of [...all, { ...all[0]!, kind: "snapshot" }].entries()) {
        if (kind === "upsert") held.set(id, at);
        else if (kind === "delete") held.delete(id);
        if (kind === "snapshot") {
          const rows = [...held].map(([key, v]) => [key, { v }] as const);
          for (const [n, one] of snapshot(at + 1, rows).entries()) send(rows[n]![0], one);
        } else if (isSeen)
          send(
            id,
            kind === "delete"
              ? message("d", id, null, source(at + 1))
              : message("u", id, { v: at }, source(at + 1)),
          );
      }
      const fixture = await topicOf(t, 2);
      for (let n = 0; sent.some((left) => left.length > 0); n++) {
        const size = sizes[n % sizes.length]!;
        fixture.kafka.append("t", n % 2, sent[n % 2]!.splice(0, size));
        await start(fixture, { cdc: { sweep: true } }).ended;
      }
      const expected = [...held].map(([id, v]) => ({ id: BigInt(id), v: BigInt(v) }));
      assert.deepEqual(
        await live(fixture),
        expected.sort((a, b) => Number(a.id - b.id)),
      );
    }),
    { numRuns: RUNS, endOnFailure: true },
  );
});
