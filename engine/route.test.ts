import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import {
  batchOf,
  openWorkbench,
  planFor,
  type ReadRow,
  signal,
  struct,
  withKafka,
} from "../test/support/encoder-fixture.ts";
import type { Encoded } from "./encoder.ts";

const ROWS = withKafka(struct({ id: "long", country: "string", made: "timestamp" }));

/** Rows in files of a route. */
const perRoute = (encoded: Encoded) => encoded.files.map(({ route, rows }) => [route, rows] as const).sort();
const placesOf = (rows: Map<number, ReadRow>) => [...rows.keys()].sort((a, b) => a - b);

test("files are split by the route's text: null, the empty text and everything else apart", async (t) => {
  const bench = await openWorkbench(t);
  const countries = ["de", "fr", "de", null, "", "a/b=c %", "日本", "x".repeat(3000), "__null"];
  const batch = batchOf(countries.map((country, id) => JSON.stringify({ id, country })));
  const plan = planFor(struct({ id: "long", country: "string" }), { route: "country" });
  const { encoded, rows } = await bench.encode(batch, plan);
  assert.equal(rows.size, countries.length);
  const wanted = [...new Set(countries)].map((country) => [
    country,
    countries.filter((c) => c === country).length,
  ]);
  assert.deepEqual(perRoute(encoded), wanted.sort());
  assert.deepEqual(encoded.bad, []);
});

test("without a route files tell of none", async (t) => {
  const bench = await openWorkbench(t);
  const { encoded } = await bench.encode(batchOf(['{"id":1}']), planFor(struct({ id: "long" })));
  assert.deepEqual(
    encoded.files.map((file) => "route" in file),
    [false],
  );
});

test("a route splits first, then partitions; the rows of each file are of both", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf(
    Array.from({ length: 40 }, (_, id) => `{"id":${id},"p":"p${id % 2}","country":"c${id % 4}"}`),
  );
  const schema = struct({ id: "long", p: "string", country: "string" });
  const plan = planFor(schema, { route: "upper(country)", partitionColumns: ["p"] });
  const { encoded, rows } = await bench.encode(batch, plan);
  assert.deepEqual(
    encoded.files.map(({ route, partitionValues, rows }) => [route, partitionValues.p, rows]).sort(),
    [
      ["C0", "p0", 10],
      ["C1", "p1", 10],
      ["C2", "p0", 10],
      ["C3", "p1", 10],
    ],
  );
  for (const [id, row] of rows) assert.equal(row.country, `c${id % 4}`);
});

test("a route may read nested fields, what Kafka says, and columns that this very batch brings", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf(['{"id":1,"to":{"land":"de"}}', '{"id":2,"to":{"land":"fr"}}']);
  const plan = planFor(struct({ id: "long" }), {
    route: "\"to\".land || '-' || _kafka.partition -- where to",
  });
  const { encoded } = await bench.encode(batch, plan);
  assert.deepEqual(perRoute(encoded), [
    ["de-0", 1],
    ["fr-1", 1],
  ]);
  assert.notEqual(encoded.evolvedSchema, undefined);
});

test("routes that are no text are written as text", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf([1, 2, 3].map((id) => `{"id":${id},"made":"2024-01-0${id}T00:00:00Z"}`));
  for (const [route, texts] of [
    ["id % 2 = 0", ["false", "true"]],
    ["id * 2", ["2", "4", "6"]],
    ["CAST(made AS DATE)", ["2024-01-01", "2024-01-02", "2024-01-03"]],
    ["NULL::VARCHAR", [null]],
  ] as const) {
    const { encoded } = await bench.encode(
      batch,
      planFor(struct({ id: "long", made: "timestamp" }), { route }),
    );
    assert.deepEqual([...new Set(encoded.files.map((file) => file.route))].sort(), texts, route);
  }
});

test("a message whose route cannot be worked out is a letter of stage route, and only that one", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf([
    ...Array.from({ length: 100 }, (_, id) => `{"id":${id},"country":"${id % 40 === 7 ? "x" : id}"}`),
    "{bad",
    '{"id":7,"rowid":1,"country":"7"}',
  ]);
  const route = "CASE WHEN id = 50 THEN error('no 50') ELSE country::INTEGER END";
  const plan = planFor(struct({ id: "long", country: "string" }), { route });
  const { encoded, rows } = await bench.encode(batch, plan);
  assert.deepEqual(
    encoded.bad.map(({ index, stage, code }) => [index, stage, code]),
    [
      [7, "route", "ROUTE_FAILED"],
      [47, "route", "ROUTE_FAILED"],
      [50, "route", "ROUTE_FAILED"],
      [87, "route", "ROUTE_FAILED"],
      [100, "decode", "MALFORMED_JSON"],
    ],
  );
  assert.match(encoded.bad[0]!.message, /'x'/);
  assert.match(encoded.bad[2]!.message, /no 50/);
  assert.equal(rows.size, 97);
});

test("behind a transform a route reads what it yields; where one of a message's rows has none, no row of it is written", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf(['{"l":["1","2"]}', '{"l":["3","x"]}', '{"l":[]}', '{"l":["1"]}']);
  const plan = planFor(struct({ item: "string", _kafka_index: "integer" }), {
    transform: "SELECT unnest(l) AS item, _kafka FROM messages",
    route: "CAST(item AS INTEGER) % 2",
  });
  const encoded = await bench.encoder.encode(batch, plan, signal);
  assert.deepEqual(perRoute(encoded), [
    ["0", 1],
    ["1", 2],
  ]);
  assert.deepEqual(
    encoded.bad.map(({ index, code }) => [index, code]),
    [[1, "ROUTE_FAILED"]],
  );
  assert.deepEqual(
    [...encoded.counts],
    [
      [0, { rows: 3, skipped: 0 }],
      [1, { rows: 0, skipped: 0 }],
      [2, { rows: 0, skipped: 1 }],
    ],
  );
});

test("rows that violate a constraint are not routed", async (t) => {
  const bench = await openWorkbench(t);
  const plan = planFor(struct({ id: "long", country: "string" }), {
    configuration: { "delta.constraints.positive": "id > 0" },
    route: "country::INTEGER",
  });
  const batch = batchOf(['{"id":-1,"country":"x"}', '{"id":1,"country":"x"}', '{"id":2,"country":"2"}']);
  const { encoded, rows } = await bench.encode(batch, plan);
  assert.deepEqual(
    encoded.bad.map(({ index, code }) => [index, code]),
    [
      [0, "CONSTRAINT_VIOLATED"],
      [1, "ROUTE_FAILED"],
    ],
  );
  assert.deepEqual(placesOf(rows), [2]);
  const none = await bench.encode(batchOf(['{"id":-1,"country":"x"}']), plan);
  assert.deepEqual(none.encoded.files, []);
});

test("messages of text are routed, too", async (t) => {
  const bench = await openWorkbench(t);
  const plan = planFor(struct({ key: "string", value: "string" }), { format: "text", route: "value" });
  const { encoded } = await bench.encode(batchOf(["a", "b", "a", null]), plan);
  assert.deepEqual(perRoute(encoded), [
    [null, 1],
    ["a", 2],
    ["b", 1],
  ]);
});

test("what is no row-local expression over the row's columns is refused, with the route and the reason", async (t) => {
  const { encoder } = await openWorkbench(t);
  const refused: readonly (readonly [route: string, reason: RegExp])[] = [
    ["land", /land/],
    ["count(*)", /aggregate/],
    ["random()::VARCHAR", /random/],
    ["current_date", /another value each time/],
    ["(SELECT 1)", /subquery/],
    ["row_number() OVER ()", /window/],
    ["unnest([country])", /unnest/],
    ["country) AS a, (id", /./],
    ["country) FROM messages WHERE (true", /./],
    ["country, id", /no name for a table|./],
    ["[country]", /no name for a table/],
    ["_kafka", /no name for a table/],
    ["_kafka.key", /no name for a table/],
    ["", /./],
    ["country FROM", /./],
    ["SELECT country", /./],
    ['"lab place"', /lab place/],
  ];
  for (const [route, reason] of refused)
    await assert.rejects(
      encoder.checkRoute(route, ROWS, signal),
      (error) =>
        isLabError(error, "TRANSFORM_REFUSED") &&
        error.message.startsWith(`the route ${JSON.stringify(route)} is refused`) &&
        reason.test(error.message),
      route,
    );
  for (const route of [
    "country",
    "coalesce(country, 'none')",
    "left(country, 2) -- the land",
    "_kafka.topic",
    "year(made)",
  ])
    await encoder.checkRoute(route, ROWS, signal);
});

test("a wrong route stops the stream instead of making letters of all messages", async (t) => {
  const { encoder } = await openWorkbench(t);
  const plan = planFor(struct({ id: "long" }), { route: "land" });
  await assert.rejects(encoder.encode(batchOf(['{"id":1}', '{"id":2}']), plan, signal), (error) =>
    isLabError(error, "TRANSFORM_REFUSED"),
  );
});
