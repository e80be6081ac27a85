/** Which of two changes is later: the traps that others fell into, as cases. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type JsonObject, parseJsonExactly } from "../engine/json-parse.ts";
import type { Order } from "./change.ts";
import { debeziumPosition, type KeyChange } from "./debezium-position.ts";
import { logOrder } from "./log-order.ts";
import { compareOrder, type Position } from "./position.ts";

const json = (source: object) => parseJsonExactly(JSON.stringify(source)) as JsonObject;
const place = (offset: number, partition = 0, generation = 0) => ({
  partition,
  offset: BigInt(offset),
  generation,
});
const of = (source: object, offset = 0, partition = 0, keyChange: KeyChange = null): Order => ({
  position: debeziumPosition(json(source), keyChange),
  place: place(offset, partition),
});
const postgres = (lsn: number | null, sequence?: [string | null, string | null], more: object = {}) => ({
  ...{ connector: "postgresql", name: "shop", db: "shop", ts_ms: 1000, ...more },
  ...(lsn === null ? {} : { lsn }),
  ...(sequence ? { sequence: JSON.stringify(sequence) } : {}),
});
const mysql = (file: string, pos: number, row = 0, more: object = {}) => ({
  ...{ connector: "mysql", name: "shop", server_id: 11, ts_ms: 1000, file, pos, row, ...more },
});

/** Each first one is older, for certain unless it says otherwise. */
const CASES: [story: string, older: Order, newer: Order, isCertain?: false][] = [
  [
    "interleaved transactions come in the order of their commits, whatever their own positions (materialize#5262, risingwave#22503)",
    of(postgres(108, ["90", "108"])),
    of(postgres(100, ["118", "100"])),
  ],
  [
    "within a transaction the own position counts",
    of(postgres(101, ["90", "101"])),
    of(postgres(102, ["90", "102"])),
  ],
  [
    "a snapshot's row stands where its own position does, as it has no last commit",
    of(postgres(200, [null, "200"], { snapshot: "true" })),
    of(postgres(205, ["201", "205"])),
  ],
  [
    "a snapshot that is taken again is newer than what came before it",
    of(postgres(150, ["140", "150"])),
    of(postgres(200, [null, "200"], { snapshot: "last" })),
  ],
  [
    "a snapshot read after newer changes is older (debezium-server-iceberg#544)",
    of(postgres(4, [null, "4"], { snapshot: "true" }), 9),
    of(postgres(9, ["8", "9"]), 3),
  ],
  [
    "a position beyond 2^53 keeps its digits",
    of({ ...postgres(null, ["9007199254740993", "9007199254740993"]) }),
    of(postgres(null, ["9007199254740993", "9007199254740994"])),
  ],
  [
    "at the same position the snapshot is older",
    of(postgres(9, ["9", "9"], { snapshot: "true" }), 7),
    of(postgres(9, ["9", "9"]), 3),
  ],
  [
    "at the same position the later time is newer",
    of(postgres(9, ["9", "9"], { ts_ms: 1 }), 7),
    of(postgres(9, ["9", "9"], { ts_ms: 2 }), 3),
  ],
  [
    "at the same position and time Kafka's offset decides (paimon#1050)",
    of(postgres(9, ["9", "9"]), 4),
    of(postgres(9, ["9", "9"]), 5),
  ],
  [
    "an incremental snapshot's row without a position is newer where Kafka has it later (debezium#3765)",
    of(postgres(9, ["8", "9"]), 3),
    of(postgres(null, undefined, { snapshot: "incremental" }), 4),
  ],
  [
    "with the stale sequence of the last change, too",
    of(postgres(9, ["8", "9"]), 3),
    of(postgres(null, ["8", "9"], { snapshot: "incremental" }), 4),
  ],
  [
    "what was moved to a key stays though the key was moved on in the same transaction (risingwave#12026)",
    of(postgres(102, ["90", "102"]), 5, 0, "removed"),
    of(postgres(101, ["90", "101"]), 4, 0, "made"),
  ],
  [
    "an update before a change of the key is older",
    of(postgres(101, ["90", "101"])),
    of(postgres(102, ["90", "102"]), 0, 0, "removed"),
  ],
  [
    "what moved to a key in an earlier transaction is removed by a later one",
    of(postgres(101, ["90", "101"]), 4, 0, "made"),
    of(postgres(140, ["120", "140"]), 5, 0, "removed"),
  ],
  [
    "places in a binlog are numbers, not texts (hudi#9475)",
    of(mysql("bin.000000", 23)),
    of(mysql("bin.000000", 123)),
  ],
  ["files of a binlog are counted, not spelled", of(mysql("bin.999999", 4)), of(mysql("bin.1000000", 4))],
  ["rows of one event are counted", of(mysql("bin.000001", 4, 9)), of(mysql("bin.000001", 4, 10))],
  [
    "a snapshot does not say which server it is of",
    of(mysql("bin.000001", 4, 0, { server_id: 0, snapshot: "true" }), 3),
    of(mysql("bin.000001", 5), 9),
  ],
  [
    "one that comes again behind what is a minute newer is older",
    of(mysql("bin.000001", 4, 0, { server_id: 0, snapshot: "true", ts_ms: 1_000_000 }), 9),
    of(mysql("bin.000001", 5, 0, { ts_ms: 1_060_001 }), 3),
  ],
  [
    "one that comes behind a change that has a later place may be of another server, and Kafka's order counts, which is a guess",
    of(mysql("bin.000900", 5, 0, { ts_ms: 1_000_000 }), 3),
    of(mysql("bin.000001", 4, 0, { server_id: 0, snapshot: "true", ts_ms: 1_001_000 }), 4),
    false,
  ],
  [
    "so do two snapshots",
    of(mysql("bin.000900", 5, 0, { server_id: 0, snapshot: "true", ts_ms: 1_000_000 }), 3),
    of(mysql("bin.000001", 4, 0, { server_id: 0, snapshot: "true", ts_ms: 1_900_000 }), 4),
    false,
  ],
  [
    "a change behind a snapshot's place that happened after it is of a server that the snapshot is not of, and its place says nothing",
    of(mysql("bin.000900", 4, 0, { server_id: 0, snapshot: "true", ts_ms: 1_000_000 }), 3),
    of(mysql("bin.000001", 4, 0, { server_id: 12, ts_ms: 1_100_000 }), 4),
    false,
  ],
  [
    "clocks that differ by less than a minute do not tell which it is",
    of(mysql("bin.000900", 4, 0, { server_id: 0, snapshot: "true", ts_ms: 1_000_000 }), 3),
    of(mysql("bin.000001", 4, 0, { server_id: 12, ts_ms: 970_000 }), 4),
    false,
  ],
  [
    "nor does a snapshot without a time",
    of(mysql("bin.000900", 4, 0, { server_id: 0, snapshot: "true", ts_ms: 0 }), 3),
    of(mysql("bin.000001", 4, 0, { server_id: 12, ts_ms: 1_030_000 }), 4),
    false,
  ],
  [
    "a change that comes again behind a snapshot that was taken a minute after it is older",
    of(mysql("bin.000001", 4, 0, { ts_ms: 1_000_000 }), 4),
    of(mysql("bin.000900", 4, 0, { server_id: 0, snapshot: "true", ts_ms: 1_060_001 }), 3),
  ],
  [
    "in another partition it is, where its clock agrees",
    of(mysql("bin.000001", 4, 0, { ts_ms: 1_000_000 }), 4, 1),
    of(mysql("bin.000900", 4, 0, { server_id: 0, snapshot: "true", ts_ms: 1_000_001 }), 3, 0),
  ],
  [
    "and nothing proves it where that does not",
    of(mysql("bin.000001", 4, 0, { ts_ms: 1_000_000 }), 4, 1),
    of(mysql("bin.000900", 4, 0, { server_id: 0, snapshot: "true", ts_ms: 999_999 }), 3, 0),
    false,
  ],
  [
    "a transaction that is read from a replica's binlog has the server and the number that it was made with, and stands where it may",
    of(mysql("bin.000900", 4, 0, { gtid: "u-1:41" }), 3),
    of(mysql("bin.000002", 4, 0, { gtid: "u-1:42" }), 4),
  ],
  [
    "of MariaDB, too",
    of(mysql("bin.000900", 4, 0, { gtid: "0-11-41" }), 3),
    of(mysql("bin.000002", 4, 0, { gtid: "0-11-42" }), 4),
  ],
  [
    "a server that was built anew counts from the start, though it has the same name",
    of(mysql("bin.000900", 4, 0, { gtid: "u-1:41" }), 3),
    of(mysql("bin.000002", 4, 0, { gtid: "u-2:1" }), 4),
    false,
  ],
  [
    "without numbers clocks tell that",
    of(mysql("bin.000900", 4, 0, { ts_ms: 1_000_000 }), 3),
    of(mysql("bin.000002", 4, 0, { ts_ms: 1_060_001 }), 4),
    false,
  ],
  [
    "what a server sends again is older, though its clock was put back",
    of(mysql("bin.000001", 4, 0, { ts_ms: 1_030_000 }), 4),
    of(mysql("bin.000002", 4, 0, { ts_ms: 1_000_000 }), 3),
  ],
  [
    "members of a group count in numbers of their own, and Kafka's order counts where the other one's are higher",
    of(mysql("bin.000009", 4, 0, { gtid: "group:1000001" }), 3),
    of(mysql("bin.000009", 9, 0, { gtid: "group:42", server_id: 12 }), 4),
    false,
  ],
  [
    "a database of Postgres that was built anew begins its log again",
    of(postgres(900, ["890", "900"], { ts_ms: 1_000_000 }), 3),
    of(postgres(20, [null, "20"], { snapshot: "last", ts_ms: 1_060_001 }), 4),
    false,
  ],
  [
    "after a failover the transaction's own number counts, where files start anew",
    of(mysql("bin.000900", 4, 0, { gtid: "u-1:41" }), 3),
    of(mysql("log.000001", 4, 0, { gtid: "u-1:42", server_id: 12 }), 9),
  ],
  [
    "of another server Kafka's offset decides within a partition, which is a guess",
    of(mysql("bin.000900", 4), 3),
    of(mysql("bin.000001", 4, 0, { server_id: 12 }), 4),
    false,
  ],
  [
    "across partitions its clock does, which is another",
    of(mysql("bin.000900", 4, 0, { ts_ms: 5 }), 9, 0),
    of(mysql("bin.000001", 4, 0, { server_id: 12, ts_ms: 6 }), 4, 1),
    false,
  ],
  [
    "without positions Kafka's offset is the order",
    { position: null, place: place(4) },
    { position: null, place: place(5) },
  ],
  [
    "a topic made anew is newer, whatever its offsets",
    { position: null, place: place(99, 0, 0) },
    { position: null, place: place(1, 0, 1) },
  ],
  [
    "without positions there is no order between partitions, but always the same one",
    { position: null, place: place(9, 0) },
    { position: null, place: place(1, 1) },
    false,
  ],
];

for (const [story, older, newer, isCertain = true] of CASES) {
  test(story, () => {
    assert.deepEqual(signs(compareOrder(older, newer)), { order: -1, isCertain });
    assert.deepEqual(signs(compareOrder(newer, older)), { order: 1, isCertain });
    assert.equal(compareOrder(newer, newer).order, 0);
  });
}

const signs = ({ order, isCertain }: { order: number; isCertain: boolean }) => ({
  order: Math.sign(order),
  isCertain,
});

test("a row that was there before is older than any change, and the same as itself", () => {
  const change = of(postgres(1, [null, "1"]));
  assert.deepEqual(compareOrder(null, change), { order: -1, isCertain: true });
  assert.deepEqual(compareOrder(change, null), { order: 1, isCertain: true });
  assert.deepEqual(compareOrder(null, null), { order: 0, isCertain: true });
});

test("positions of different databases, servers and connectors are not compared", () => {
  const position = (source: object) => of(source).position as Position;
  const one = position(postgres(9, ["8", "9"]));
  for (const other of [
    position(postgres(1, [null, "1"], { db: "other" })),
    position(mysql("bin.000001", 4)),
    { ...one, source: "plain" },
  ])
    assert.equal(logOrder(one, other), null);
  assert.equal(of({ connector: "sqlserver", change_lsn: "0:1" }).position, null);
});

test("changes of one log have one order, however they are sorted", () => {
  const source = fc.record({
    lsn: fc.integer({ min: 1, max: 30 }),
    committed: fc.option(fc.integer({ min: 1, max: 30 })),
    snapshot: fc.constantFrom("false", "true"),
    ts_ms: fc.integer({ min: 0, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(source, { minLength: 3, maxLength: 3 }), (sources) => {
      const [a, b, c] = sources.map(({ lsn, committed, snapshot, ts_ms }, n) =>
        of(
          postgres(lsn, [committed === null ? null : String(committed), String(lsn)], { snapshot, ts_ms }),
          n,
        ),
      ) as [Order, Order, Order];
      const order = (one: Order, other: Order) => Math.sign(compareOrder(one, other).order);
      assert.equal(order(a, b), -order(b, a));
      if (order(a, b) < 0 && order(b, c) < 0) assert.equal(order(a, c), -1);
    }),
  );
});
