import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import type { DataType } from "../delta/types.ts";
import {
  arrayOf,
  batchOf,
  nullable,
  openWorkbench,
  planFor,
  START_MS,
  signal,
  struct,
  withKafka,
} from "../test/support/encoder-fixture.ts";

const ID = struct({ id: "long" });

test("messages that are no JSON object are decode letters with a code each", async (t) => {
  const bench = await openWorkbench(t);
  const cases: readonly (readonly [value: string | Uint8Array | null, code: string])[] = [
    [null, "NULL_VALUE"],
    ["", "EMPTY_VALUE"],
    [" \n\t", "MALFORMED_JSON"],
    ["{", "MALFORMED_JSON"],
    ['{"id":1', "MALFORMED_JSON"],
    ['{"id":1}}', "MALFORMED_JSON"],
    ['{"id":1}\n{"id":2}', "MALFORMED_JSON"],
    ['{"id":1},{"id":2}', "MALFORMED_JSON"],
    ['{"id":1} x', "MALFORMED_JSON"],
    ['{"id":1,}', "MALFORMED_JSON"],
    ["{id:1}", "MALFORMED_JSON"],
    ['{"id" 1}', "MALFORMED_JSON"],
    ["{'id':1}", "MALFORMED_JSON"],
    ["\ufeff{}", "MALFORMED_JSON"],
    ["[1]", "NOT_AN_OBJECT"],
    ["5", "NOT_AN_OBJECT"],
    ['"x"', "NOT_AN_OBJECT"],
    ["null", "NOT_AN_OBJECT"],
    ["true", "NOT_AN_OBJECT"],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "INVALID_UTF8"],
    [Buffer.from('{"id":1}', "utf16le"), "MALFORMED_JSON"],
    ["[".repeat(100_000), "MALFORMED_JSON"],
    [`{"id":${"[".repeat(20_000)}${"]".repeat(20_000)}}`, "MALFORMED_JSON"],
  ];
  const batch = batchOf(['{"id":0}', ...cases.map(([value]) => value), '{"id":99}']);
  const { encoded, rows } = await bench.encode(batch, planFor(ID));
  assert.deepEqual(
    encoded.bad.map(({ index, stage, code }) => [index, stage, code]),
    cases.map(([, code], i) => [i + 1, "decode", code]),
  );
  assert.deepEqual([...rows.keys()], [0, cases.length + 1]);
});

test("no bytes of a message can become a row of another", async (t) => {
  const bench = await openWorkbench(t);
  const piece = fc.constantFrom(
    "{",
    "}",
    '"',
    ":",
    ",",
    "\n",
    "\r",
    "\\",
    "[",
    "]",
    '"id"',
    "1",
    '{"id":7}',
    " ",
    "\u0000",
    "null",
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(piece, { maxLength: 9 }), { minLength: 1, maxLength: 40 }),
      async (messages) => {
        const values = messages.map((pieces) => pieces.join(""));
        const { encoded, rows } = await bench.encode(
          batchOf(values),
          planFor(ID, { onUnknownField: "ignore" }),
        );
        values.forEach((value, i) => {
          let said: unknown;
          try {
            said = JSON.parse(value);
          } catch {
            said = undefined;
          }
          const isObject = typeof said === "object" && said !== null && !Array.isArray(said);
          const id = isObject ? ((said as { id?: unknown }).id ?? null) : undefined;
          const isRow = isObject && (id === null || typeof id === "number");
          assert.equal(rows.has(i), isRow, JSON.stringify(value));
          if (isRow) assert.equal(rows.get(i)!.id === null ? null : Number(rows.get(i)!.id), id, value);
        });
        assert.equal(encoded.evolvedSchema, undefined);
      },
    ),
    { numRuns: 150 },
  );
});

test("of doubled keys the last counts, at any depth", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ id: "long", s: struct({ x: "string" }) });
  const batch = batchOf([
    '{"id":1,"id":2}',
    '{"s":{"x":"a","x":"b"}}',
    '{"id":1,"id":"x"}',
    '{"s":{"x":"a"},"s":{}}',
  ]);
  const { encoded, rows } = await bench.encode(batch, planFor(schema));
  assert.equal(String(rows.get(0)!.id), "2");
  assert.deepEqual(rows.get(1)!.s, { x: "b" });
  assert.equal(encoded.bad[0]!.code, "WRONG_TYPE");
  assert.deepEqual(rows.get(3)!.s, { x: null });
});

test("unknown fields are added, ignored or letters, as the plan says, at any depth", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ id: "long", s: struct({ x: "long" }), l: arrayOf(struct({ x: "long" })) });
  const values = [
    '{"id":1}',
    '{"id":2,"new":1.5}',
    '{"id":3,"s":{"x":1,"y":"a"}}',
    '{"id":4,"l":[{"x":1},{"x":2,"z":true}]}',
    '{"id":"bad","typo":1}',
  ];
  const added = await bench.encode(batchOf(values), planFor(schema));
  assert.deepEqual(
    added.encoded.evolvedSchema,
    withKafka(
      struct({
        id: "long",
        s: struct({ x: "long", y: "string" }),
        l: arrayOf(struct({ x: "long", z: "boolean" })),
        new: "double",
      }),
    ),
  );
  assert.deepEqual(added.rows.get(2)!.s && Object.keys(added.rows.get(2)!.s as object), ["x", "y"]);
  assert.equal(String(added.rows.get(1)!.new), "1.5");
  assert.deepEqual(
    added.encoded.bad.map(({ index }) => index),
    [4],
  );

  const ignored = await bench.encode(batchOf(values), planFor(schema, { onUnknownField: "ignore" }));
  assert.equal(ignored.encoded.evolvedSchema, undefined);
  assert.deepEqual([...ignored.rows.keys()].sort(), [0, 1, 2, 3]);

  const refused = await bench.encode(batchOf(values), planFor(schema, { onUnknownField: "deadletter" }));
  assert.deepEqual(
    refused.encoded.bad.map(({ index, code, message }) => [index, code, message]),
    [
      [1, "UNKNOWN_FIELD", "new: is not in the schema"],
      [2, "UNKNOWN_FIELD", "s.y: is not in the schema"],
      [3, "UNKNOWN_FIELD", "l[1].z: is not in the schema"],
      [4, "UNKNOWN_FIELD", "typo: is not in the schema"],
    ],
  );
});

test("fields that no column can be, and _kafka, are letters that say so; ignoring passes over them", async (t) => {
  const bench = await openWorkbench(t);
  const values = [
    '{"ID":1}',
    '{"a b":1}',
    '{"":1}',
    '{"_kafka":1}',
    '{"\\u005fkafka":1}',
    '{"id":1,"_kafkas":1}',
  ];
  const codes = async (onUnknownField: "add" | "ignore") =>
    (await bench.encode(batchOf(values), planFor(ID, { onUnknownField }))).encoded.bad.map(
      ({ index, code }) => [index, code],
    );
  const reserved = [3, 4].map((i) => [i, "RESERVED_FIELD"]);
  assert.deepEqual(await codes("add"), [...[0, 1, 2].map((i) => [i, "UNKNOWN_FIELD"]), ...reserved]);
  assert.deepEqual(await codes("ignore"), reserved);
});

test("a name spelled with escapes is the same name", async (t) => {
  const bench = await openWorkbench(t);
  for (const onUnknownField of ["add", "ignore", "deadletter"] as const) {
    const batch = batchOf([
      '{"\\u0069d":5}',
      '{"\\u0069d":"x"}',
      '{"i\\u0064":1,"id":2}',
      '{"p":"a","\\u0070":"b"}',
    ]);
    const plan = planFor(struct({ id: "long", p: "string" }), { onUnknownField, partitionColumns: ["p"] });
    const { encoded, rows } = await bench.encode(batch, plan);
    assert.deepEqual([String(rows.get(0)!.id), String(rows.get(2)!.id), rows.get(3)!.p], ["5", "2", "b"]);
    assert.deepEqual(
      encoded.bad.map(({ index, code }) => [index, code]),
      [[1, "WRONG_TYPE"]],
    );
  }
});

test("ignored fields may hold anything that is JSON, and nothing else", async (t) => {
  const bench = await openWorkbench(t);
  const values = [
    '{"x":{"y":[1,{"z":"\\u00e9\\n"}],"y":null},"id":1}',
    '{"x":[1,],"id":1}',
    '{"x":{"y"},"id":1}',
    '{"x":NaN}',
    '{"x":tru}',
    '{"x":01}',
  ];
  const { encoded, rows } = await bench.encode(batchOf(values), planFor(ID, { onUnknownField: "ignore" }));
  assert.deepEqual([...rows.keys()], [0]);
  assert.ok(encoded.bad.every(({ code }) => code === "MALFORMED_JSON"));
});

test("a message of 10 MB is a row like any other, and so is one beside it", async (t) => {
  const bench = await openWorkbench(t);
  const big = "x".repeat(10 << 20);
  const batch = batchOf([`{"id":1,"s":"${big}"}`, '{"id":2}', `{"id":3,"s":"\\u0041${big}","s":"y"}`]);
  const { encoded } = await bench.encode(batch, planFor(struct({ id: "long", s: "string" })));
  assert.deepEqual(encoded.bad, []);
  const rows = await bench.reader.rows(
    `SELECT id::INTEGER AS id, length(s)::INTEGER AS n FROM '${encoded.files[0]!.file}' ORDER BY id`,
  );
  assert.deepEqual(
    rows.map(({ id, n }) => [id, n]),
    [
      [1, 10 << 20],
      [2, null],
      [3, 1],
    ],
  );
});

test("rows keep their own origin over many buffers and threads", async (t) => {
  const bench = await openWorkbench(t, { threads: 4 });
  const count = 20_000;
  const padding = "p".repeat(400);
  const values = Array.from({ length: count }, (_, i) =>
    i % 1000 === 3
      ? "{bad"
      : i % 777 === 5
        ? `{"id":${i}.0,"pad":"${padding}"}`
        : `{"id":${i},"pad":"${padding}"}`,
  );
  const { encoded, rows } = await bench.encode(
    batchOf(values),
    planFor(struct({ id: "long", pad: "string" })),
  );
  assert.equal(encoded.bad.length, 20);
  for (const [place, row] of rows) assert.equal(Number(row.id), place);
});

test("_kafka says topic, partition, offset, time and its type, key, headers and generation", async (t) => {
  const bench = await openWorkbench(t);
  const batch = batchOf(['{"id":1}', '{"id":2}', '{"id":3}'], (i) =>
    i === 1
      ? {
          topic: "other'topic",
          partition: 9,
          offset: 2n ** 60n,
          timestampMs: 1_700_000_000_123,
          timestampType: "append",
          generation: 2,
          key: Buffer.from([0, 255]),
          headers: [
            ["a", Buffer.from([1])],
            ["a", null],
            ["größe", Buffer.from("")],
          ],
        }
      : {},
  );
  const encoded = await bench.encoder.encode(batch, planFor(ID), signal);
  const rows = await bench.reader.rows(
    `SELECT id::INTEGER AS id, _kafka.topic AS topic, _kafka.partition AS partition, _kafka.offset AS "offset",
       epoch_ms(_kafka.timestamp) AS ms, _kafka.timestamp_type AS kind, hex(_kafka.key) AS key, _kafka.headers::VARCHAR AS headers,
       _kafka.generation AS generation, typeof(_kafka.timestamp) AS type
     FROM '${encoded.files[0]!.file}' ORDER BY id`,
  );
  assert.deepEqual(
    { ...rows[1]! },
    {
      id: 2,
      topic: "other'topic",
      partition: 9,
      offset: 2n ** 60n,
      ms: 1_700_000_000_123n,
      kind: "append",
      key: "00FF",
      headers: "[{'key': a, 'value': \\x01}, {'key': a, 'value': NULL}, {'key': größe, 'value': ''}]",
      generation: 2,
      type: "TIMESTAMP WITH TIME ZONE",
    },
  );
  assert.deepEqual(
    [rows[0]!.topic, rows[0]!.partition, rows[0]!.ms, rows[0]!.kind, rows[0]!.key, rows[0]!.headers],
    ["orders", 0, BigInt(START_MS), "create", null, "[]"],
  );
});

test("without metadata no _kafka is written", async (t) => {
  const bench = await openWorkbench(t);
  const encoded = await bench.encoder.encode(
    batchOf(['{"id":1}']),
    planFor(ID, { metadata: false, schema: ID }),
    signal,
  );
  const columns = await bench.reader.rows(`DESCRIBE FROM '${encoded.files[0]!.file}'`);
  assert.deepEqual(
    columns.map(({ column_name }) => column_name),
    ["id"],
  );
});

test("text messages are rows with key and value, null where they are null, letters where they are no text", async (t) => {
  const bench = await openWorkbench(t);
  const values = ["One!", null, "", "a\u0000b\n", Buffer.from([0xff]), "größe"];
  const batch = batchOf(values, (i) => ({
    key: i === 5 ? Buffer.from([0xc3]) : i === 0 ? Buffer.from("Key1") : null,
  }));
  const schema = struct({ key: "string", value: "string" });
  const { encoded, rows } = await bench.encode(batch, planFor(schema, { format: "text" }));
  assert.deepEqual(
    [...rows].map(([i, row]) => [i, row.key, row.value]),
    [
      [0, "Key1", "One!"],
      [1, null, null],
      [2, null, ""],
      [3, null, "a\u0000b\n"],
    ],
  );
  assert.deepEqual(
    encoded.bad.map(({ index, code, message }) => [index, code, message]),
    [
      [4, "INVALID_UTF8", "the value is not UTF-8 text"],
      [5, "INVALID_UTF8", "the key is not UTF-8 text"],
    ],
  );
});

test("each combination of partition values has a file of its own, whatever the values are", async (t) => {
  const bench = await openWorkbench(t);
  const values = [
    "",
    "a/b",
    "a=b",
    "%2F",
    "..",
    "*?[x]",
    "'\"",
    "\n",
    "\u0000",
    "größe 🦆",
    " ",
    "NULL",
    "__HIVE_DEFAULT_PARTITION__",
    null,
  ];
  const schema = struct({ id: "long", p: "string", n: "integer", lab_x: "string" });
  const batch = batchOf(values.flatMap((p, i) => [0, 1].map((n) => JSON.stringify({ id: i * 2 + n, p, n }))));
  const { encoded, rows } = await bench.encode(batch, planFor(schema, { partitionColumns: ["p", "n"] }));
  const expected = new Map<string, number>();
  for (const p of values)
    for (const n of [0, 1]) {
      const key = JSON.stringify([p === "" ? null : p, String(n)]);
      expected.set(key, (expected.get(key) ?? 0) + 1);
    }
  assert.deepEqual(
    new Map(
      encoded.files.map((file) => [
        JSON.stringify([file.partitionValues.p, file.partitionValues.n]),
        file.rows,
      ]),
    ),
    expected,
  );
  for (const [place, row] of rows) {
    const p = values[Math.floor(place / 2)]!;
    assert.deepEqual([row.p, row.n, Number(row.id)], [p === "" ? null : p, String(place % 2), place]);
  }
  for (const { file, size, stats } of encoded.files) {
    assert.equal(statSync(file).size, size);
    assert.equal(basename(file), file.slice(bench.stagingDir.length + 1));
    assert.deepEqual(Object.keys(JSON.parse(stats).nullCount), ["id", "lab_x", "_kafka"]);
  }
  assert.equal(
    readdirSync(bench.stagingDir).filter((name) => name.endsWith(".parquet")).length,
    encoded.files.length,
  );
});

test("partition values have the text that the log wants", async (t) => {
  const bench = await openWorkbench(t);
  const cases: readonly (readonly [DataType, string, string | null])[] = [
    ["long", "-9223372036854775808", "-9223372036854775808"],
    ["byte", "7", "7"],
    ["boolean", "true", "true"],
    ["decimal(10,2)", "12", "12.00"],
    ["double", "1.5", "1.5"],
    ["date", '"0045-03-15"', "0045-03-15"],
    ["timestamp", '"2024-01-02T03:04:05.6+01:00"', "2024-01-02T02:04:05.600000Z"],
    ["timestamp_ntz", '"2024-01-02T03:04:05"', "2024-01-02 03:04:05.000000"],
    ["string", '"é"', "é"],
    ["string", "null", null],
  ];
  for (const [type, json, text] of cases) {
    const plan = planFor(struct({ id: "long", p: type }), { partitionColumns: ["p"] });
    const encoded = await bench.encoder.encode(batchOf([`{"id":1,"p":${json}}`]), plan, signal);
    assert.deepEqual(
      encoded.files.map((file) => file.partitionValues),
      [{ p: text }],
      String(type),
    );
  }
});

test("rows cannot be partitioned by bytes, and that is said", async (t) => {
  const bench = await openWorkbench(t);
  const plan = planFor(struct({ id: "long", p: "binary" }), { partitionColumns: ["p"] });
  await assert.rejects(bench.encoder.encode(batchOf(['{"p":"YWI="}']), plan, signal), (error) =>
    isLabError(error, "UNSUPPORTED_FEATURE"),
  );
});

test("date comes from Kafka's time in UTC where the message gives none", async (t) => {
  const bench = await openWorkbench(t);
  const schema = struct({ id: "long", date: "string" });
  const times = [Date.parse("2024-01-01T23:59:59.999Z"), Date.parse("2024-01-02T00:00:00Z"), START_MS];
  const batch = batchOf(['{"id":1}', '{"id":2}', '{"id":3,"date":"1999-01-01"}'], (i) => ({
    timestampMs: times[i]!,
  }));
  const { rows } = await bench.encode(
    batch,
    planFor(schema, { partitionColumns: ["date"], derived: [{ kind: "date", column: "date" }] }),
  );
  assert.deepEqual(
    [0, 1, 2].map((i) => rows.get(i)!.date),
    ["2024-01-01", "2024-01-02", "1999-01-01"],
  );
});

test("a table without columns of its own still holds where its rows came from", async (t) => {
  const bench = await openWorkbench(t);
  const { rows } = await bench.encode(batchOf(["{}", "{}"]), planFor(struct({})));
  assert.deepEqual([...rows.keys()].sort(), [0, 1]);
});

test("an empty batch, or one of letters only, makes no file", async (t) => {
  const bench = await openWorkbench(t);
  assert.deepEqual((await bench.encode(batchOf([]), planFor(ID))).encoded.files, []);
  const { encoded } = await bench.encode(batchOf(["x", "y"]), planFor(ID));
  assert.deepEqual(encoded.files, []);
  assert.deepEqual(
    [...encoded.counts],
    [
      [0, { rows: 0, skipped: 0 }],
      [1, { rows: 0, skipped: 0 }],
    ],
  );
});

test("calls at the same time take turns", async (t) => {
  const bench = await openWorkbench(t);
  const made = await Promise.all(
    Array.from({ length: 5 }, (_, i) => bench.encoder.encode(batchOf([`{"id":${i}}`]), planFor(ID), signal)),
  );
  for (const [i, { files }] of made.entries()) {
    const [row] = await bench.reader.rows(`SELECT id::INTEGER AS id FROM '${files[0]!.file}'`);
    assert.equal(row!.id, i);
  }
});

test("an abort is thrown, and the encoder serves on", async (t) => {
  const bench = await openWorkbench(t);
  const stopped = AbortSignal.abort(new Error("stop"));
  await assert.rejects(bench.encoder.encode(batchOf(['{"id":1}']), planFor(ID), stopped), /stop/);
  const { rows } = await bench.encode(batchOf(['{"id":1}']), planFor(ID));
  assert.equal(rows.size, 1);
  assert.ok(!existsSync(`${bench.stagingDir}/feed.ndjson`));
});

test("a first batch suggests a schema by the rules of the README", async (t) => {
  const { encoder } = await openWorkbench(t);
  const infer = async (...values: string[]) =>
    encoder.inferSchema(batchOf(values), { format: "json" }, signal);
  const column = async (...values: string[]) => {
    const schema = await infer(...values.map((value) => `{"x":${value}}`));
    return schema?.fields[0]?.type;
  };
  assert.equal(await column("1", "-2", "null"), "long");
  assert.equal(await column("1", "2.5"), "double");
  assert.equal(await column("1.0"), "double");
  assert.equal(await column("9223372036854775807"), "long");
  assert.equal(await column("9223372036854775808", "1"), "decimal(38,0)");
  assert.equal(await column("1".repeat(39)), "string");
  assert.equal(await column("9007199254740993", "0.5"), "string");
  assert.equal(await column("true", "false"), "boolean");
  assert.equal(await column('"2024-01-01T00:00:00Z"', '"2024-01-01T00:00:00.5+01:00"'), "timestamp");
  assert.equal(await column('"2024-01-01T00:00:00Z"', '"soon"'), "string");
  assert.equal(await column('"2024-01-01T00:00:00"'), "string");
  assert.equal(await column('"2024-01-01"'), "string");
  assert.equal(await column("null"), "string");
  assert.equal(await column("1", '"a"'), "string");
  assert.equal(await column("1", "true"), "string");
  assert.equal(await column("{}", "1"), "string");
  assert.deepEqual(await column('{"a":1}', '{"b":"x"}', "null"), struct({ a: "long", b: "string" }));
  assert.deepEqual(await column("{}"), {
    type: "map",
    keyType: "string",
    valueType: "string",
    valueContainsNull: true,
  });
  assert.deepEqual(await column("[1]", "[2.5,null]"), arrayOf("double"));
  assert.deepEqual(await column("[]"), arrayOf("string"));
  assert.deepEqual(await column('[{"a":1},{"b":2}]'), arrayOf(struct({ a: "long", b: "long" })));
  assert.deepEqual(await infer('{"a":1,"A":2,"b c":3,"":4}', "{bad", "[]"), {
    type: "struct",
    fields: [nullable("a", "long")],
  });
  assert.equal(await infer("{bad", "[]"), null);
  assert.equal(await infer(), null);
});
