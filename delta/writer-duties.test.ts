import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Action, Metadata, Protocol } from "./actions.ts";
import { serializeCommit } from "./commit-file.ts";
import { commitPath } from "./log-names.ts";
import { openTable } from "./open.ts";
import { serializeSchema } from "./schema.ts";
import { memoryStore } from "./store/memory.ts";
import { commit, committed, file, removal, schema, signal } from "./table.fixture.ts";
import type { CommitRequest, Table } from "./table.ts";
import type { StructField } from "./types.ts";
import { type Duty, UNCHANGED_FILES, UNCHANGED_ROWS } from "./writer-duties.ts";

const [id] = schema.fields as [StructField];
const withKey = (key: string): StructField[] => [{ ...id, metadata: { [key]: "x" } }];
const LEGACY: Protocol = { minReaderVersion: 2, minWriterVersion: 6 };

/** A table as another engine left it, holding the file `old`. */
async function foreign(over: {
  configuration?: Record<string, string>;
  fields?: readonly StructField[];
  protocol?: Protocol;
  partitionColumns?: string[];
  others?: Action[];
}): Promise<Table> {
  const store = memoryStore();
  const metaData: Metadata = {
    id: "i",
    format: { provider: "parquet", options: {} },
    schemaString: serializeSchema({ type: "struct", fields: over.fields ?? schema.fields }),
    partitionColumns: over.partitionColumns ?? [],
    configuration: over.configuration ?? {},
  };
  const actions: Action[] = [
    { protocol: over.protocol ?? LEGACY },
    { metaData },
    ...(over.others ?? []),
    { add: file("old", { stats: '{"numRecords":2}' }) },
  ];
  await store.put(commitPath(0), serializeCommit(actions), signal);
  return openTable(store, signal);
}

const writer = (...names: string[]): Protocol => ({
  minReaderVersion: 1,
  minWriterVersion: 7,
  writerFeatures: ["domainMetadata", ...names],
});
const refused = (table: Table, request: Partial<CommitRequest>, feature: string | RegExp) =>
  assert.rejects(
    commit(table, request),
    (error) => isLabError(error, "UNSUPPORTED_FEATURE") && !!error.message.match(feature),
  );
const rows = (n: number, over = {}) => file(`new-${n}`, { stats: `{"numRecords":${n}}`, ...over });

const uses: [Duty, Parameters<typeof foreign>[0]][] = [
  ["checkConstraints", { configuration: { "delta.constraints.positive": "id > 0" } }],
  ["invariants", { fields: withKey("delta.invariants") }],
  ["generatedColumns", { fields: withKey("delta.generationExpression") }],
  ["identityColumns", { fields: withKey("delta.identity.start") }],
  ["allowColumnDefaults", { fields: withKey("CURRENT_DEFAULT"), protocol: writer("allowColumnDefaults") }],
  ["columnMapping", { configuration: { "delta.columnMapping.mode": "name" } }],
];

for (const [duty, table] of uses) {
  test(`new rows for a table that uses ${duty} need the promise of it, and nothing else does`, async () => {
    const others = new Set([...UNCHANGED_FILES].filter((other) => other !== duty));
    await refused(await foreign(table), { adds: [file("a")] }, duty);
    await refused(await foreign(table), { adds: [file("a")], enforced: others }, duty);
    committed(await commit(await foreign(table), { adds: [file("a")], enforced: new Set([duty]) }));
    committed(await commit(await foreign(table), { removes: [removal("old")] }));
    committed(await commit(await foreign(table), { txns: [{ appId: "x", version: 1n }] }));
  });
}

test("a compaction needs no promise for rows, and one for files where columns are mapped", async () => {
  const compaction = {
    removes: [removal("old", { dataChange: false })],
    adds: [file("a", { dataChange: false })],
  };
  for (const [duty, table] of uses) {
    if (duty === "columnMapping") await refused(await foreign(table), compaction, duty);
    else committed(await commit(await foreign(table), compaction));
  }
  const [, mapped] = uses.find(([duty]) => duty === "columnMapping")!;
  await refused(await foreign(mapped), { adds: [file("a")], enforced: UNCHANGED_ROWS }, "columnMapping");
});

test("what a property or a column says counts only where the protocol lists its feature", async () => {
  const table = await foreign({
    protocol: { minReaderVersion: 1, minWriterVersion: 2 },
    configuration: { "delta.constraints.positive": "id > 0" },
  });
  committed(await commit(table, { adds: [file("a")] }));
});

test("nulls that a file's statistics count in a column that takes none are refused", async () => {
  const strict = { ...id, nullable: false };
  const inner: StructField = {
    name: "s",
    nullable: false,
    metadata: {},
    type: { type: "struct", fields: [strict] },
  };
  const loose: StructField = { ...inner, name: "t", nullable: true };
  const part: StructField = { name: "p", type: "string", nullable: false, metadata: {} };
  const table = await foreign({ fields: [strict, inner, loose, part], partitionColumns: ["p"] });
  const add = (nullCount: object, p: string | null = "1") =>
    commit(table, {
      adds: [file("a", { partitionValues: { p }, stats: JSON.stringify({ numRecords: 9, nullCount }) })],
    });
  const violates = (column: string) => (error: unknown) =>
    isLabError(error, "CONSTRAINT_VIOLATED") && error.message.startsWith(`column ${column} `);
  await assert.rejects(add({ id: 1 }), violates("id"));
  await assert.rejects(add({ s: { id: 2 } }), violates("s.id"));
  await assert.rejects(add({}, null), violates("p"));
  committed(await add({ id: 0, s: { id: 0 }, t: { id: 9 } }));
});

test("files under column mapping name their partitions physically", async () => {
  const physical = {
    ...id,
    metadata: { "delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "c1" },
  };
  const table = await foreign({
    configuration: { "delta.columnMapping.mode": "name" },
    fields: [physical, { ...id, name: "x" }],
    partitionColumns: ["id"],
  });
  const enforced = UNCHANGED_FILES;
  await assert.rejects(commit(table, { adds: [file("a", { partitionValues: { id: "1" } })], enforced }));
  committed(await commit(table, { adds: [file("a", { partitionValues: { c1: "1" } })], enforced }));
});

test("columns are not mapped anew here, but other properties of such a table may change", async () => {
  const set = async (table: Table, change: Partial<Metadata>) => {
    const { metadata } = await table.latest(signal);
    return { metadata: { ...metadata, ...change } };
  };
  const plain = await foreign({});
  await refused(
    plain,
    await set(plain, { configuration: { "delta.columnMapping.mode": "name" } }),
    "columnMapping",
  );
  const configuration = { "delta.columnMapping.mode": "name" };
  const mapped = await foreign({ configuration });
  const schemaString = serializeSchema({ type: "struct", fields: [id, { ...id, name: "other" }] });
  await refused(mapped, await set(mapped, { schemaString }), "columnMapping");
  committed(await commit(mapped, await set(mapped, { configuration: { ...configuration, "my.own": "x" } })));
});

test("row ids go on where the last ones ended, by each writer's own version, also behind a lost race", async () => {
  const table = await foreign({
    protocol: writer("rowTracking"),
    others: [
      {
        domainMetadata: {
          domain: "delta.rowTracking",
          configuration: '{"rowIdHighWaterMark":9007199254740993}',
          removed: false,
        },
      },
    ],
  });
  const readSnapshot = await table.latest(signal);
  const rival = await openTable(table.store, signal);
  committed(await commit(rival, { adds: [rows(3)] }));
  const adds = [rows(5), rows(1, { baseRowId: 7n, defaultRowCommitVersion: 2n })];
  const { snapshot } = committed(await table.commit({ readSnapshot, operation: "WRITE", adds }, signal));
  const ids = [...snapshot.files()].map((add) => [add.path, add.baseRowId, add.defaultRowCommitVersion]);
  const mark = 9007199254740993n;
  assert.deepEqual(ids, [
    ["old", undefined, undefined],
    ["new-3", mark + 1n, 1n],
    ["new-5", mark + 4n, 2n],
    ["new-1", 7n, 2n],
  ]);
  assert.equal(
    snapshot.domains().get("delta.rowTracking")?.configuration,
    `{"rowIdHighWaterMark":${mark + 8n}}`,
  );
});

test("the first row id is 0, and files without a row count get none", async () => {
  const table = await foreign({ protocol: writer("rowTracking") });
  await assert.rejects(commit(table, { adds: [file("a")] }), /numRecords/);
  const { snapshot } = committed(await commit(table, { adds: [rows(2)] }));
  assert.equal([...snapshot.files()].at(-1)?.baseRowId, 0n);
});

test("rows that keep their ids are not rewritten here, and row tracking is not switched on here", async () => {
  const configuration = { "delta.enableRowTracking": "true" };
  const on = await foreign({ protocol: writer("rowTracking"), configuration });
  await refused(on, { removes: [removal("old")], adds: [rows(1)] }, "rowTracking");
  committed(await commit(on, { adds: [rows(1)] }));
  committed(await commit(on, { removes: [removal("old")] }));
  const back = { removes: [removal("new-1")], adds: [rows(1, { path: "old", baseRowId: 0n })] };
  committed(await commit(on, back));
  const off = await foreign({ protocol: writer("rowTracking") });
  const { metadata } = await off.latest(signal);
  await refused(off, { metadata: { ...metadata, configuration } }, "rowTracking");
});

for (const spelled of ['[["id"]]', '["id"]']) {
  test(`a file for a clustered table needs statistics of ${spelled}`, async () => {
    const table = await foreign({
      protocol: writer("clustering"),
      others: [
        {
          domainMetadata: {
            domain: "delta.clustering",
            configuration: `{"clusteringColumns":${spelled}}`,
            removed: false,
          },
        },
      ],
    });
    await refused(table, { adds: [rows(1)] }, /clustering \(statistics of id in new-1\)/);
    committed(await commit(table, { adds: [file("a", { stats: '{"numRecords":1,"nullCount":{"id":0}}' })] }));
  });
}

test("domains of the protocol are not a caller's, and others need the feature", async () => {
  const domain = (name: string) => ({ domains: [{ domain: name, configuration: "{}", removed: false }] });
  const table = await foreign({ protocol: writer() });
  await assert.rejects(commit(table, domain("delta.clustering")), (error) => isLabError(error, "INTERNAL"));
  const { snapshot } = committed(await commit(table, domain("mine")));
  assert.equal(snapshot.domains().get("mine")?.configuration, "{}");
  await refused(await foreign({}), domain("mine"), "domainMetadata");
});
