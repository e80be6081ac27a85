import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import type { Add } from "../delta/actions.ts";
import { fileRows } from "../delta/file-rows.ts";
import type { Snapshot } from "../delta/table.ts";
import type { DataType, StructField } from "../delta/types.ts";
import { type Engine, openEngine, quoteName, quoteText } from "./instance.ts";
import { matchingFiles, matchOfFile } from "./prune.ts";
import { predicateOf } from "./prune-sql.ts";
import { writeRowFiles } from "./row-files.ts";
import { createRelation, type RelationOptions } from "./scan.ts";
import { sqlType } from "./sql-types.ts";

const signal = new AbortController().signal;
const LONG = "the same first thirty-two units.";

/** Values as text, in an order that makes neighbours near; null is put in where rows are made. */
const VALUES: Record<string, { type: DataType; values: string[]; constants: string[] }> = {
  i: {
    type: "integer",
    values: ["-2147483648", "-7", "-1", "0", "1", "2", "3", "10", "2147483647"],
    constants: ["0", "-1", "2", "'3'", "'1.4'", "1.5", "-0.5", "1e0", "10::BIGINT", "99999999999", "1 + 1"],
  },
  l: {
    type: "long",
    values: [
      "-9223372036854775808",
      "-5",
      "0",
      "12",
      "9007199254740991",
      "9007199254740992",
      "9007199254740993",
      "9223372036854775807",
    ],
    constants: [
      "9007199254740993",
      "9007199254740992e0",
      "9007199254740992.5",
      "'12'",
      "0",
      "-5.0",
      "9223372036854775807",
      "9223372036854775808",
      "-9223372036854775808",
    ],
  },
  d: {
    type: "decimal(20,4)",
    values: ["-9999999999999999.9999", "-1.5", "-0.0001", "0", "0.0001", "1.5", "1234567890123456.7891"],
    constants: ["0", "1.5", "'1.50001'", "0.00005", "-0.0001", "1234567890123456.7891", "1.5e0", "'-1.5'"],
  },
  f: {
    type: "float",
    values: ["-inf", "-3.4e38", "-1.5", "-0.0", "0.0", "0.1", "0.3", "1.5", "3.4e38", "inf", "nan"],
    constants: ["0.1", "1e-1", "0.1::DOUBLE", "0.1::FLOAT", "'0.3'", "0", "1.5", "'nan'", "'inf'", "-1.5"],
  },
  g: {
    type: "double",
    values: ["-inf", "-1e300", "-1.5", "-0.0", "0.0", "0.1", "0.3", "1e16", "inf", "nan"],
    constants: [
      "0.1",
      "1e-1",
      "0.3::FLOAT",
      "'0.3'",
      "0",
      "1e300",
      "'nan'",
      "'-inf'",
      "-1.5",
      "9007199254740993",
    ],
  },
  s: {
    type: "string",
    values: [
      "",
      "a",
      "ab",
      "abc",
      "b%",
      "b_",
      "z",
      "é",
      `${LONG}`,
      `${LONG}a tail`,
      `${LONG}\u{1F600}`,
      `${LONG.slice(0, 31)}\u{1F600}x`,
      "\uFFFDx",
      "\u{1F600}",
      "\u{10FFFF}",
    ],
    constants: [
      "''",
      "'a'",
      "'abc'",
      "'b%'",
      "'é'",
      `'${LONG}'`,
      `'${LONG}a tail'`,
      "'\uFFFDx'",
      "'\u{1F600}'",
      "'the same'",
      "'a' || 'b'",
    ],
  },
  o: { type: "boolean", values: ["false", "true"], constants: ["true", "false", "'f'"] },
  dt: {
    type: "date",
    values: [
      "0001-01-01",
      "1500-02-28",
      "1969-12-31",
      "1970-01-01",
      "2024-02-29",
      "2024-03-01",
      "9999-12-31",
    ],
    constants: [
      "'2024-02-29'",
      "DATE '1969-12-31'",
      "'1500-02-28'",
      "TIMESTAMP '2024-02-29 12:00:00'",
      "TIMESTAMPTZ '2024-02-29 00:00:00+00'",
      "'2024-02-29 12:00:00'",
      "DATE '2024-03-01' - INTERVAL 1 DAY",
    ],
  },
  ts: {
    type: "timestamp",
    values: [
      "0001-01-01 00:00:00",
      "1969-12-31 23:59:59.999999",
      "1970-01-01 00:00:00.000001",
      "2024-02-29 12:00:00.123",
      "2024-02-29 12:00:00.123456",
      "2024-02-29 12:00:00.124",
      "9999-12-31 23:59:59.999999",
    ],
    constants: [
      "'2024-02-29 12:00:00.123456'",
      "TIMESTAMP '2024-02-29 12:00:00.123'",
      "'2024-02-29 14:00:00.123456+02'",
      "TIMESTAMPTZ '1969-12-31 23:59:59.999999+00'",
      "DATE '2024-02-29'",
      "'2024-02-29'",
      "'infinity'",
    ],
  },
  tn: {
    type: "timestamp_ntz",
    values: [
      "1969-12-31 23:59:59.999999",
      "1970-01-01 00:00:00",
      "2024-02-29 12:00:00.123456",
      "2030-01-01 00:00:00",
    ],
    constants: [
      "'2024-02-29 12:00:00.123456'",
      "TIMESTAMP '1970-01-01'",
      "DATE '2024-02-29'",
      "'2030-01-01'",
    ],
  },
};
/** Columns of data files, and under the same letter with `p` partition columns. Members of `n` are a struct's. */
const DATA = Object.keys(VALUES);
const PARTITIONS = ["i", "d", "f", "s", "o", "dt", "ts", "tn"];
const MEMBERS = ["i", "s", "ts"];

type Row = Record<string, string | null>;
const cell = (key: string) => {
  const { values } = VALUES[key]!;
  return fc.nat(values.length - 1).chain((from) => {
    const near = values.slice(from, from + 2);
    return fc.option(fc.constantFrom(...near), { freq: 6 });
  });
};
/** Rows of one file lie near each other, or pruning would have nothing to do. */
const file = fc.record({
  partition: fc.record(Object.fromEntries(PARTITIONS.map((key) => [`p${key}`, cell(key)]))),
  rows: fc
    .record(
      Object.fromEntries(
        [...DATA.map((key) => [key, key] as const), ...MEMBERS.map((key) => [`n${key}`, key] as const)].map(
          ([name, key]) => {
            const { values } = VALUES[key]!;
            const near = fc.nat(values.length - 1).chain((from) =>
              fc.array(fc.option(fc.constantFrom(...values.slice(from, from + 2)), { freq: 6 }), {
                minLength: 3,
                maxLength: 3,
              }),
            );
            return [name, near];
          },
        ),
      ),
    )
    .map((columns) =>
      [0, 1, 2].map(
        (row) => Object.fromEntries(Object.entries(columns).map(([k, v]) => [k, v[row]!])) as Row,
      ),
    ),
  stats: fc.oneof(
    { arbitrary: fc.constant("as written"), weight: 6 },
    fc.constantFrom("none", "broken", "no counts", "loose"),
  ),
});

const column = fc.oneof(
  fc.constantFrom(...DATA).map((key) => ({ key, name: fc.sample(fc.constant(key), 1)[0]! })),
  fc.constantFrom(...PARTITIONS).map((key) => ({ key, name: `p${key}` })),
  fc.constantFrom(...MEMBERS).map((key) => ({ key, name: `N.${key.toUpperCase()}` })),
);
const leaf = column.chain(({ key, name }) => {
  const constant = fc.oneof(
    { arbitrary: fc.constantFrom(...VALUES[key]!.constants), weight: 12 },
    fc.constant("NULL"),
  );
  const operator = fc.constantFrom(
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "IS DISTINCT FROM",
    "IS NOT DISTINCT FROM",
  );
  const forms = [
    fc.tuple(operator, constant).map(([op, value]) => `${name} ${op} ${value}`),
    fc.tuple(operator, constant).map(([op, value]) => `${name} ${op} ${value}`),
    fc
      .tuple(constant, fc.constantFrom("=", "<", "<=", ">", ">="))
      .map(([value, op]) => `${value} ${op} ${name}`),
    fc.array(constant, { minLength: 1, maxLength: 4 }).map((list) => `${name} IN (${list.join(", ")})`),
    fc.array(constant, { minLength: 1, maxLength: 3 }).map((list) => `${name} NOT IN (${list.join(", ")})`),
    fc.tuple(constant, constant).map(([a, b]) => `${name} BETWEEN ${a} AND ${b}`),
    fc.constantFrom("IS NULL", "IS NOT NULL").map((test) => `${name} ${test}`),
  ];
  if (key === "s") {
    const pattern = fc.constantFrom(
      "a%",
      "ab",
      "b%",
      "%",
      "",
      "é%",
      "the same%",
      "the same_%",
      `${LONG}a%`,
      "\u{1F600}%",
    );
    forms.push(
      pattern.map((text) => `${name} LIKE '${text}'`),
      pattern.map((text) => `${name} NOT LIKE '${text}'`),
      fc.constantFrom("a", "", "the", "\u{10FFFF}").map((text) => `starts_with(${name}, '${text}')`),
    );
  }
  if (key === "o") forms.push(fc.constantFrom(name, `${name} IS TRUE`, `${name} IS NOT FALSE`));
  return fc.oneof(...forms);
});
const condition = fc.letrec<{ node: string }>((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    { arbitrary: leaf, weight: 3 },
    fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a}) AND (${b})`),
    fc.tuple(tie("node"), tie("node")).map(([a, b]) => `(${a}) OR (${b})`),
    tie("node").map((a) => `NOT (${a})`),
    fc.constant("abs(i) = 1"),
  ),
})).node;

function field(name: string, type: DataType): StructField {
  return { name, type, nullable: true, metadata: {} };
}
const fields: StructField[] = [
  field("id", "long"),
  ...DATA.map((key) => field(key, VALUES[key]!.type)),
  field("n", { type: "struct", fields: MEMBERS.map((key) => field(key, VALUES[key]!.type)) }),
  ...PARTITIONS.map((key) => field(`p${key}`, VALUES[key]!.type)),
];
const partitionColumns = PARTITIONS.map((key) => `p${key}`);
const table: RelationOptions["table"] = {
  schema: { type: "struct", fields },
  partitionColumns,
  protocol: { minReaderVersion: 1, minWriterVersion: 2 },
  metadata: {
    id: "t",
    format: { provider: "parquet", options: {} },
    schemaString: "",
    partitionColumns,
    configuration: { "delta.dataSkippingNumIndexedCols": "-1" },
  },
};

const literal = (text: string | null, type: DataType) =>
  text === null ? `CAST(NULL AS ${sqlType(type)})` : `CAST(${quoteText(text)} AS ${sqlType(type)})`;

function rowSql(id: number, row: Row, partition: Row): string {
  const own = DATA.map((key) => `${literal(row[key]!, VALUES[key]!.type)} AS ${quoteName(key)}`);
  const members = MEMBERS.map((key) => `${quoteName(key)} := ${literal(row[`n${key}`]!, VALUES[key]!.type)}`);
  const parts = PARTITIONS.map((key) => `${literal(partition[`p${key}`]!, VALUES[key]!.type)} AS p${key}`);
  return `SELECT ${id}::BIGINT AS id, ${own.join(", ")}, struct_pack(${members.join(", ")}) AS n, ${parts.join(", ")}`;
}

function altered(stats: string, how: string): string | undefined {
  if (how === "none") return undefined;
  if (how === "broken") return `${stats.slice(0, -1)},`;
  if (how === "no counts")
    return stats.replace(/"numRecords":\d+/, '"other":1').replace('"nullCount"', '"n"');
  return how === "loose" ? `${stats.slice(0, -1)},"tightBounds":false}` : stats;
}

async function write(
  engine: Engine,
  folder: string,
  files: { partition: Row; rows: Row[]; stats: string }[],
): Promise<{ add: Add; file: string }[]> {
  const written: { add: Add; file: string }[] = [];
  for (const [index, { partition, rows, stats }] of files.entries()) {
    const sql = rows.map((row, at) => rowSql(index * 10 + at, row, partition)).join(" UNION ALL ");
    const rowsOf = `(${sql})`;
    const options = { engine, rows: rowsOf, keys: rowsOf, stagingDir: folder, signal };
    const { configuration } = table.metadata;
    for (const one of await writeRowFiles({
      ...options,
      schema: table.schema,
      partitionColumns,
      configuration,
    })) {
      const text = altered(one.stats, stats);
      const add: Add = {
        path: one.file,
        partitionValues: one.partitionValues,
        size: one.size,
        modificationTime: 0,
        dataChange: true,
        ...(text === undefined ? {} : { stats: text }),
      };
      written.push({ add, file: one.file });
    }
  }
  return written;
}

test("a pruned file holds no row that a condition takes, and one said to match wholly no other", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "prune-"));
  const engine = await openEngine({ memoryLimitBytes: 500_000_000, threads: 1, tempDir: null });
  t.after(async () => {
    engine.close();
    await rm(folder, { recursive: true });
  });
  const seen = { conditions: 0, refused: 0, files: 0, none: 0, all: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(file, { minLength: 4, maxLength: 7 }),
      fc.array(condition, { minLength: 60, maxLength: 60 }),
      async (files, conditions) => {
        const written = await write(engine, folder, files);
        const data = { files: written, explain: async (error: unknown) => error, close: async () => {} };
        await createRelation(engine, { name: "t", table, data, signal });
        // One for all conditions, as it keeps what it read of a file.
        const rows = fileRows("file:///t");
        for (const { add } of written) rows.add(0, add);
        for (const sql of conditions) {
          const query = `SELECT list(id::INTEGER // 10) AS files FROM t WHERE ${sql}`;
          const found = await engine.rows(query).catch(() => undefined);
          const predicate = await predicateOf(engine, { sql, table }, signal);
          seen.conditions++;
          if (found === undefined) {
            seen.refused++;
            continue;
          }
          const hits = (found[0]!.files ?? []) as number[];
          const filesWhere: Snapshot["filesWhere"] = (...asked) => rows.files(0, ...asked);
          const kept = new Set([...matchingFiles({ filesWhere }, predicate)].map(({ path }) => path));
          for (const [index, { add }] of written.entries()) {
            const count = hits.filter((hit) => hit === index).length;
            const match = matchOfFile(predicate, add);
            seen.files++;
            const why = () => `${sql}\n${add.stats}\n${JSON.stringify(add.partitionValues)}`;
            if (count > 0) assert.ok(kept.has(add.path), why());
            if (match === "none") {
              assert.ok(!kept.has(add.path), why());
              seen.none++;
              assert.equal(count, 0, why());
            }
            if (match === "all") {
              seen.all++;
              assert.equal(count, 3, why());
            }
          }
        }
      },
    ),
    { numRuns: 12, endOnFailure: true, includeErrorInReport: true },
  );
  t.diagnostic(JSON.stringify(seen));
  assert.ok(seen.refused < seen.conditions / 2, JSON.stringify(seen));
  assert.ok(seen.none > seen.files / 5 && seen.all > seen.files / 50, JSON.stringify(seen));
});
