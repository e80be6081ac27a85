/** Short histories that others got wrong, and what is right: the same whatever batches they come in. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutgoingRecord } from "../kafka/ports.ts";
import { LIVE, message, type Row, source, start, tombstone, topicOf } from "../test/support/cdc-stream.ts";
import type { Fixture } from "../test/support/stream-fixture.ts";

/** Each story holds whatever batches its messages come in: all at once, and each in a run of its own. */
const STORIES: [story: string, messages: OutgoingRecord[], rows: Row[]][] = [
  [
    "created, deleted and created is the last (debezium-server-iceberg#661)",
    [
      message("c", 1, { v: "a" }, source(1)),
      message("d", 1, null, source(2)),
      message("c", 1, { v: "b" }, source(3)),
    ],
    [{ id: 1n, v: "b" }],
  ],
  [
    "a delete is not undone by what is older and comes later (HUDI-2752, paimon#5387)",
    [
      message("c", 1, { v: "a" }, source(8)),
      message("d", 1, null, source(9)),
      message("u", 1, { v: "old" }, source(5)),
    ],
    [],
  ],
  [
    "nor is a row by an older delete",
    [message("u", 1, { v: "a" }, source(8)), message("d", 1, null, source(3))],
    [{ id: 1n, v: "a" }],
  ],
  [
    "a snapshot that is read after newer changes changes nothing (debezium-server-iceberg#544)",
    [
      message("u", 1, { v: "new" }, source(9)),
      message("r", 1, { v: "old" }, source(4, { snapshot: "true" })),
    ],
    [{ id: 1n, v: "new" }],
  ],
  [
    "a delete and its tombstone are one delete and no letter (hudi#8519)",
    [
      message("c", 1, { v: "a" }, source(1)),
      message("d", 1, null, source(2)),
      tombstone(1),
      message("u", 1, { v: "x" }, source(1)),
    ],
    [],
  ],
  [
    "a tombstone alone is a delete (kafka-connect-jdbc#1421)",
    [message("c", 1, { v: "a" }, source(1)), tombstone(1), message("c", 2, { v: "b" }, source(2))],
    [{ id: 2n, v: "b" }],
  ],
  [
    "a value that is left out stays (artie#100, airbyte#30518)",
    [
      message("c", 1, { v: "a", bio: "long" }, source(1)),
      message("u", 1, { v: "b", bio: "__debezium_unavailable_value" }, source(2)),
    ],
    [{ id: 1n, v: "b", bio: "long" }],
  ],
  [
    "and comes when the older change comes later",
    [
      message("u", 1, { v: "b", bio: "__debezium_unavailable_value" }, source(2)),
      message("c", 1, { v: "a", bio: "long" }, source(1)),
    ],
    [{ id: 1n, v: "b", bio: "long" }],
  ],
  [
    "keys that trade places in one transaction are all there (risingwave#12026)",
    [
      message("c", 1, { v: "one" }, source(1)),
      message("c", 2, { v: "two" }, source(2)),
      message("d", 1, null, source(5, { sequence: '["4","5"]' }), { headers: { "__debezium.newkey": "{}" } }),
      message("c", 2, { v: "one" }, source(5, { sequence: '["4","5"]' }), {
        headers: { "__debezium.oldkey": "{}" },
      }),
      message("d", 2, null, source(6, { sequence: '["4","6"]' }), { headers: { "__debezium.newkey": "{}" } }),
      { ...tombstone(2), headers: { "__debezium.newkey": "{}" } },
      message("c", 3, { v: "two" }, source(6, { sequence: '["4","6"]' }), {
        headers: { "__debezium.oldkey": "{}" },
      }),
    ],
    [
      { id: 2n, v: "one" },
      { id: 3n, v: "two" },
    ],
  ],
  [
    "a truncate takes what is older, whenever that comes, and leaves what is newer",
    [
      message("c", 1, { v: "a" }, source(1)),
      message("c", 2, { v: "b" }, source(2)),
      { key: null, value: JSON.stringify({ op: "t", before: null, after: null, source: source(5) }) },
      message("c", 3, { v: "c" }, source(6)),
      message("c", 4, { v: "d" }, source(4)),
    ],
    [{ id: 3n, v: "c" }],
  ],
  [
    "a new column and a wider one are the table's from then on",
    [message("c", 1, { v: "a" }, source(1)), message("c", 2, { v: "b", more: 1 }, source(2))],
    [
      { id: 1n, v: "a" },
      { id: 2n, v: "b", more: 1n },
    ],
  ],
];

for (const [story, messages, rows] of STORIES) {
  test(`${story}, in one batch and in many`, async (t) => {
    const held = async (fixture: Fixture) => {
      const found = await fixture.rows(`SELECT * EXCLUDE (_cdc) FROM t WHERE ${LIVE} ORDER BY id`);
      return found.map((row) =>
        Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)),
      );
    };
    const [whole, split] = [await topicOf(t), await topicOf(t)];
    whole.kafka.append("t", 0, messages);
    await start(whole).ended;
    assert.deepEqual(await held(whole), rows);
    for (const one of messages) {
      split.kafka.append("t", 0, [one]);
      await start(split).ended;
    }
    assert.deepEqual(await held(split), rows);
  });
}
