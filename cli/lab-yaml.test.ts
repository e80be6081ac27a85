import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { labJsonSchema, labText, parseLabYaml } from "./lab-yaml.ts";
import { readLabYaml } from "./read-lab-yaml.ts";

const WHOLE = `
store: s3://lab/tables
kafka: { brokers: localhost:9092 }
app: lab
defaults: { flush: { latency: 2s, rows: 1000000, bytes: 256MiB } }
streams:
  - topic: my-topic
    format: text
  - topic: orders
    table: orders
    format: json
    schema: infer
    partitionBy: [date]
    transform: >
      SELECT *, strftime(placed_at, '%Y-%m-%d') AS date FROM messages
    onUnknownField: add
    onBadRecord: deadletter
`;

const refuses = (text: string, message: string | RegExp, hint?: RegExp) =>
  assert.throws(
    () => parseLabYaml(text, "lab.yaml"),
    (error) => {
      assert.ok(isLabError(error, "CONFIG_INVALID"));
      if (typeof message === "string") assert.equal(error.message, message);
      else assert.match(error.message, message);
      if (hint !== undefined) assert.match(error.hint ?? "", hint);
      return true;
    },
  );

test("a whole file is read, with defaults where keys are left out", () => {
  const lab = parseLabYaml(WHOLE, "lab.yaml");
  assert.deepEqual(
    lab.streams.map(({ topic, format, onBadRecord }) => [topic, format, onBadRecord]),
    [
      ["my-topic", "text", "deadletter"],
      ["orders", "json", "deadletter"],
    ],
  );
  assert.equal(labText(lab)("kafka.brokers"), "localhost:9092");
  assert.equal(labText(lab)("defaults.flush.rows"), "1000000");
  assert.equal(labText(lab)("defaults.upkeep.optimize"), undefined);
  assert.equal(labText(null)("store"), undefined);
  assert.deepEqual(parseLabYaml("", "lab.yaml").streams, []);
});

test("seventy topics are seventy short entries", () => {
  const streams = Array.from({ length: 70 }, (_, n) => `  - topic: t${n}\n`).join("");
  assert.equal(parseLabYaml(`streams:\n${streams}`, "lab.yaml").streams.length, 70);
});

test("a wrong value is told with file, line, key, value and what is allowed", () => {
  refuses(
    WHOLE.replace("format: json", "format: jsn"),
    'lab.yaml:11: streams[1].format is "jsn": is none of json, ndjson, csv, avro, protobuf, text, bytes',
  );
  refuses(
    WHOLE.replace("2s", "soon"),
    'lab.yaml:5: defaults.flush.latency is "soon": is no duration such as 500ms, 2s, 5m, 1h or 7d',
  );
  refuses(WHOLE.replace("1000000", "0"), /^lab\.yaml:5: defaults\.flush\.rows is 0: /);
  refuses(
    WHOLE.replace("partitionBy: [date]", 'partitionBy: ["bucket(0,id)"]'),
    /^lab\.yaml:\d+: streams\[1\]\.partitionBy is .*bucket\(0,id\).* nothing to partition a table by: .*from 1 to/,
  );
  assert.deepEqual(
    parseLabYaml("streams: [{topic: a, partitionBy: [date, bucket(16, id)]}]", "f").streams.length,
    1,
  );
  refuses("store: 7\n", "lab.yaml:1: store is 7: a text is expected", /^store: A folder, or s3/);
});

test("an unknown key is told with the near ones and the allowed ones", () => {
  refuses(
    WHOLE.replace("partitionBy", "partitionby"),
    "lab.yaml:13: streams[1].partitionby is no key of lab.yaml",
    /did you mean partitionBy\?.*allowed here: topic, table, format/,
  );
  refuses("stor: x\n", "lab.yaml:1: stor is no key of lab.yaml", /did you mean store\?/);
  refuses(
    "streams:\n  - topc: a\n    table: t\n",
    "lab.yaml:2: streams[0].topc is no key of lab.yaml",
    /did you mean topic\?/,
  );
});

const WRONG: [yaml: string, message: string, hint: RegExp][] = [
  ["cdc: x", 'cdc is "x": keys with values are expected', /^keys are format, key, deletes/],
  [
    "cdc: { key: id }",
    'cdc.key is "id": a list is expected, such as [id]',
    /^key: Columns that make a row's key/,
  ],
  ["cdc: { key: [] }", "cdc.key is []: needs 1 entry or more", /^key: /],
  ["cdc: { key: [7] }", "cdc.key[0] is 7: a text is expected", /^key: /],
  ["cdc: { key: [''] }", 'cdc.key[0] is "": must not be empty', /^key: /],
  [
    "cdc: { position: [a, b, c, d] }",
    'cdc.position is ["a","b","c","d"]: has more than 3 entries',
    /^position: /,
  ],
  [
    "cdc: { times: { at: weeks } }",
    'cdc.times.at is "weeks": is none of days, ms, us, ns',
    /^at: Columns whose/,
  ],
  ["cdc: { times: [at] }", 'cdc.times is ["at"]: keys with values are expected', /^times: /],
  ["cdc: { sweep: 1 }", "cdc.sweep is 1: true or false is expected", /^sweep: /],
  ["mode: merge", 'mode is "merge": is none of append, cdc', /^mode: /],
  ["maxTables: 0", "maxTables is 0: must be 1 or more", /^maxTables: /],
  ["maxTables: 1.5", "maxTables is 1.5: a whole number is expected", /^maxTables: /],
  ["csv: { delimiter: ab }", 'csv.delimiter is "ab": must be 1 character', /^delimiter: /],
  [
    "upkeep: { optimize: soon }",
    'upkeep.optimize is "soon": is no duration such as 500ms, 2s, 5m, 1h or 7d, nor off',
    /^optimize: /,
  ],
];

for (const [yaml, message, hint] of WRONG)
  test(`a wrong value is told in the words of the settings, with what its key is: ${yaml}`, () =>
    refuses(`streams:\n  - topic: a\n    ${yaml}\n`, `lab.yaml:3: streams[0].${message}`, hint));

test("what is missing is told at the entry that lacks it", () => {
  refuses("streams:\n  - topic: a\n  - table: b\n", "lab.yaml:3: streams[1].topic is missing", /needs topic/);
});

test("text that is no YAML, and YAML that is no map, are told with the line", () => {
  refuses("store: x\nkafka: { brokers: [\n", /^lab\.yaml:\d+: /);
  refuses("- a\n", /^lab\.yaml:1: /);
  refuses("a: 1\na: 2\n", /^lab\.yaml:2: /);
});

test("no file is no error", async () => {
  assert.equal(await readLabYaml("/nowhere/lab.yaml"), null);
});

test("the JSON Schema that is shipped is the current one", async () => {
  const shipped = await readFile(new URL("../lab.schema.json", import.meta.url), "utf8");
  assert.deepEqual(JSON.parse(shipped), labJsonSchema(), "write lab.schema.json anew from labJsonSchema()");
});
