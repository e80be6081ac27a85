/** What is said of all rows of a table is not applied to those of others that come through the same topic. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { openTable } from "../delta/open.ts";
import { openStore } from "../delta/store/open.ts";
import { LIVE, message, source, start, topicOf } from "../test/support/cdc-stream.ts";
import type { Fixture } from "../test/support/stream-fixture.ts";
import { TABLES_PROPERTY } from "./source-tables.ts";

const { signal } = new AbortController();

const live = (fixture: Fixture) => fixture.rows(`SELECT id, v FROM t WHERE ${LIVE} ORDER BY id`);

test("a sweep is refused where a topic has changes of several tables, whenever the second one was seen, and nothing is deleted", async (t) => {
  const fixture = await topicOf(t);
  const others = [
    message("c", 1, { v: "one" }, source(1, { table: "a" })),
    message("c", 2, { v: "two" }, source(2, { table: "b" })),
  ];
  const ended = message("r", 1, { v: "one" }, source(20, { table: "a", snapshot: "last" }));
  const refused = { code: "CONFIG_INVALID", message: /several tables \(shop\.a, shop\.b\)/ };
  fixture.kafka.append("t", 0, others);
  await assert.rejects(start(fixture, { cdc: { sweep: true } }).ended, refused);
  // Without a sweep both are followed, and that is remembered.
  await start(fixture).ended;
  fixture.kafka.append("t", 0, [ended]);
  await assert.rejects(start(fixture, { cdc: { sweep: true } }).ended, refused);
  assert.deepEqual(await live(fixture), [
    { id: 1n, v: "one" },
    { id: 2n, v: "two" },
  ]);
});

test("a snapshot that does not say its table sweeps nothing", async (t) => {
  const fixture = await topicOf(t);
  let warnings = 0;
  const cdc = { sweep: true, onUnswept: () => void warnings++ };
  const named = [1, 2].map((id) => message("c", id, { v: "one" }, source(id)));
  const ended = message("r", 1, { v: "one" }, source(20, { table: null, snapshot: "last" }));
  fixture.kafka.append("t", 0, [...named, ended]);
  await start(fixture, { cdc }).ended;
  assert.deepEqual([(await live(fixture)).length, warnings], [2, 1]);
});

test("the truncate of one of several tables is a letter, and the rows of all stay", async (t) => {
  const truncated = { key: null, value: JSON.stringify({ op: "t", source: source(9, { table: "a" }) }) };
  for (const parts of [1, 3]) {
    const fixture = await topicOf(t);
    const all = [
      message("c", 1, { v: "one" }, source(1, { table: "a" })),
      message("c", 2, { v: "two" }, source(2, { table: "b" })),
      truncated,
    ];
    for (let at = 0; at < 3; at += 3 / parts) {
      fixture.kafka.append("t", 0, all.slice(at, at + 3 / parts));
      await start(fixture).ended;
    }
    assert.equal((await live(fixture)).length, 2);
    assert.deepEqual(await fixture.rows("SELECT error_code AS code FROM letters", "letters"), [
      { code: "CDC_TRUNCATE" },
    ]);
  }
});

test("a truncate that is on its way while another worker brings rows of a second table takes none of them", async (t) => {
  const fixture = await topicOf(t);
  fixture.kafka.append("t", 0, [message("c", 1, { v: "one" }, source(1, { table: "a" }))]);
  await start(fixture).ended;
  const truncate = JSON.stringify({ op: "t", source: source(9, { table: "a" }) });
  fixture.kafka.append("t", 0, [{ key: null, value: truncate }]);
  const theirs = await openTable(await openStore(fixture.tableUri, { signal }), signal);
  let isFirst = true;
  fixture.wrap = (store) => ({
    ...store,
    async putIfAbsent(path, bytes, until) {
      if (isFirst && /_delta_log\/\d+\.json$/.test(path) && store.root === theirs.store.root) {
        isFirst = false;
        const readSnapshot = await theirs.latest(until);
        const { metadata } = readSnapshot;
        const configuration = { ...metadata.configuration, [TABLES_PROPERTY]: '["shop.a","shop.b"]' };
        const change = { readSnapshot, operation: "SET TBLPROPERTIES", operationParameters: {} };
        const done = await theirs.commit({ ...change, metadata: { ...metadata, configuration } }, until);
        assert.equal(done.kind, "committed");
      }
      return store.putIfAbsent(path, bytes, until);
    },
  });
  await start(fixture).ended;
  assert.equal(isFirst, false);
  assert.deepEqual(await live(fixture), [{ id: 1n, v: "one" }]);
  assert.deepEqual(await fixture.rows("SELECT error_code AS code FROM letters", "letters"), [
    { code: "CDC_TRUNCATE" },
  ]);
});
