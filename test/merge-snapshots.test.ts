/** What a reader sees of a table while changes are merged into it. */

import assert from "node:assert/strict";
import { basename, dirname } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { openQuery } from "../query/query.ts";
import { LIVE, message, source, start, topicOf } from "./support/cdc-stream.ts";
import { until } from "./support/until.ts";

const { signal } = new AbortController();
const PARTITIONS = [0, 1];
const [ROUNDS, PER_ROUND] = [12, 25];

/** Keys of one partition are in no other; a change without a value is a delete. */
const changesOf = (partition: number) =>
  Array.from({ length: ROUNDS * PER_ROUND }, (_, n) => ({
    id: 2 * ((n * n + 3 * n) % 23) + partition,
    v: n % 7 === 6 ? null : n,
  }));

test("each version has of each partition all changes up to the offset that it says, and none after it", async (t) => {
  const fixture = await topicOf(t, PARTITIONS.length);
  const changes = PARTITIONS.map(changesOf);
  const path = fileURLToPath(fixture.tableUri);
  const query = openQuery({ store: dirname(path) });
  t.after(() => query.close());
  const worker = start(fixture, { options: { once: false } });
  const latest = async () =>
    (await (await openTable(await openStore(fixture.tableUri, { signal }), signal)).latest(signal)).version;
  for (let round = 0; round < ROUNDS; round++) {
    const before = round === 0 ? -1 : await latest();
    for (const partition of PARTITIONS) {
      const first = round * PER_ROUND;
      const some = changes[partition]!.slice(first, first + PER_ROUND).map(({ id, v }, n) => {
        const row = v === null ? null : { v };
        return message(row ? "u" : "d", id, row, source(2 * (first + n) + partition + 1));
      });
      fixture.kafka.append("t", partition, some);
    }
    await until("another version", async () => (await latest().catch(() => -1)) > Math.max(before, 0));
  }
  await worker.end();

  const table = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  const newest = await latest();
  assert.ok(newest >= ROUNDS, `${newest} versions`);
  for (let version = 1; version <= newest; version++) {
    const snapshot = await table.at({ version }, signal);
    const expected = new Map<string, string>();
    for (const partition of PARTITIONS) {
      const settled = Number(snapshot.txn(`lab/t-${partition}`) ?? -1n);
      for (const { id, v } of changes[partition]!.slice(0, settled + 1))
        if (v === null) expected.delete(String(id));
        else expected.set(String(id), String(v));
    }
    const sql = `SELECT id::VARCHAR, v::VARCHAR FROM "${basename(path)}" AT (VERSION => ${version}) WHERE ${LIVE}`;
    const { rows } = await query.query(sql, { signal });
    assert.equal(rows.length, expected.size, `version ${version}`);
    assert.deepEqual(new Map(rows as [string, string][]), expected, `version ${version}`);
  }
});
