/** Damaged logs: healed where another file stands in, else refused by a code, naming the file. Never a crash, a hang or other files. */

import assert from "node:assert/strict";
import { before, test } from "node:test";
import fc from "fast-check";
import { isLabError } from "../core/errors.ts";
import type { Action } from "./actions.ts";
import { encodeCheckpoint } from "./checkpoint-write.ts";
import { createTable } from "./create.ts";
import {
  beforeVersion,
  checkpointPath,
  commitPath,
  LAST_CHECKPOINT,
  partPath,
  SIDECAR_FOLDER,
} from "./log-names.ts";
import { openTable, readVersion } from "./open.ts";
import { memoryStore } from "./store/memory.ts";
import type { Store } from "./store/store.ts";
import { collect, commit, committed, file, removal, schema, signal } from "./table.fixture.ts";
import type { Snapshot } from "./table.ts";

const VERSIONS = 7;
const UUID = "80a083e8-7026-4e79-81be-64bd76c43a11";

/** The bytes of a log with all kinds of actions, and checkpoints at 3 and 6. */
let log: Map<string, Uint8Array>;

before(async () => {
  const store = memoryStore();
  const fields = [...schema.fields, { name: "p", type: "string" as const, nullable: true, metadata: {} }];
  const table = await createTable(store, { schema: { ...schema, fields }, partitionColumns: ["p"] }, signal);
  for (let version = 1; version <= VERSIONS; version++) {
    const vector = {
      storageType: "u" as const,
      pathOrInlineDv: "ab^-aqEH.-t@S}K{vb[*k^",
      offset: 1,
      sizeInBytes: 36,
      cardinality: 2n,
    };
    const { snapshot } = committed(
      await commit(table, {
        adds: [
          file(`a${version}`, { partitionValues: { p: `x${version}` }, stats: '{"numRecords":5}' }),
          file(`b${version}`, { partitionValues: { p: null }, deletionVector: vector, tags: { t: "u" } }),
        ],
        removes:
          version > 1
            ? [
                removal(`a${version - 1}`, {
                  partitionValues: { p: `x${version - 1}` },
                  deletionTimestamp: Date.now(),
                }),
              ]
            : [],
        txns: [{ appId: "app", version: 2n ** 60n + BigInt(version) }],
        reads: version > 1 ? "table" : "nothing",
      }),
    );
    if (version % 3 === 0) await table.checkpoint(snapshot, signal);
  }
  log = new Map();
  for (const { path } of await collect(store.list("", { signal })))
    log.set(path, await store.get(path, signal));
});

async function storeOf(files: ReadonlyMap<string, Uint8Array>): Promise<Store> {
  const store = memoryStore();
  for (const [path, bytes] of files) await store.put(path, bytes, signal);
  return store;
}

/** All that can be asked of a snapshot. */
const facts = (snapshot: Snapshot) => ({
  version: snapshot.version,
  files: [...snapshot.files()].map((add) => JSON.stringify(add, longs)).sort(),
  gone: [...snapshot.tombstones()].map(({ path }) => path).sort(),
  txns: [...snapshot.txns().values()].map((txn) => `${txn.appId} ${txn.version}`),
  domains: [...snapshot.domains().keys()],
  total: [snapshot.numFiles, snapshot.sizeBytes],
});
const longs = (key: string, value: unknown) =>
  typeof value === "bigint" ? `${value}n` : key === "dataChange" ? undefined : value;

/** The facts of the newest version and of `version`, or the codes of their refusal; anything else that is thrown is a failure. */
async function look(files: ReadonlyMap<string, Uint8Array>, version = VERSIONS) {
  const store = await storeOf(files);
  const ask = async (read: () => Promise<Snapshot>) => {
    try {
      return facts(await read());
    } catch (error) {
      if (isLabError(error) && error.code !== "INTERNAL") return error.code;
      throw error;
    }
  };
  return {
    newest: await ask(async () => (await openTable(store, signal)).latest(signal)),
    asked: await ask(() => readVersion(store, version, signal)),
  };
}

const anyFile = fc.nat().map((at) => [...log.keys()][at % log.size]!);

function changed(path: string, bytes: Uint8Array | undefined): Map<string, Uint8Array> {
  const files = new Map(log);
  if (bytes === undefined) files.delete(path);
  else files.set(path, bytes);
  return files;
}

test("without one of its files, or with one that is empty or cut, a version is the same or refused", async () => {
  const whole = await look(log);
  await fc.assert(
    fc.asyncProperty(
      anyFile,
      fc.option(fc.double({ min: 0, max: 0.99, noNaN: true })),
      async (path, part) => {
        const bytes = log.get(path)!;
        // A cut at the end of a line leaves a whole file: nothing tells that there was more.
        const end = part === null ? undefined : Math.floor(bytes.length * part);
        if (end !== undefined && (bytes[end - 1] === 10 || bytes[end] === 10)) return;
        const { asked } = await look(changed(path, end === undefined ? undefined : bytes.slice(0, end)));
        if (typeof asked === "string") assert.match(asked, /^(CORRUPT_LOG|VERSION_NOT_FOUND|NOT_A_TABLE)$/);
        else assert.deepEqual(asked, whole.asked);
      },
    ),
    { numRuns: 80 },
  );
});

test("with any bytes changed anywhere a version is read or refused, and the next table is read as ever", async () => {
  const whole = await look(log);
  const change = fc.record({ at: fc.nat(), to: fc.nat(255) });
  await fc.assert(
    fc.asyncProperty(anyFile, fc.array(change, { minLength: 1, maxLength: 4 }), async (path, changes) => {
      const bytes = Uint8Array.from(log.get(path)!);
      for (const { at, to } of changes) bytes[at % bytes.length] = to;
      await look(changed(path, bytes));
    }),
    { numRuns: 80 },
  );
  assert.deepEqual(await look(log), whole);
});

/** Values in JSON that no writer means, as text: some have no JavaScript value. */
const oddValue = fc.constantFrom(
  ...[
    "null",
    "true",
    "-1",
    "0",
    "1e400",
    "-1e400",
    "0.5",
    "9007199254740993",
    "99999999999999999999",
    '""',
    '"x"',
  ],
  ...[
    "{}",
    "[]",
    "[[]]",
    '{"__proto__":1}',
    '{"constructor":null}',
    '"__proto__"',
    `"\\u0000"`,
    '"%"',
    '"file:"',
  ],
  ...["[".repeat(5000) + "]".repeat(5000), `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`],
);

test("with any value of a line in the place of another a version is read or refused", async () => {
  const commits = [...Array(VERSIONS + 1).keys()].map(commitPath);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...commits),
      fc.nat(),
      fc.nat(),
      oddValue,
      async (path, line, field, odd) => {
        const lines = Buffer.from(log.get(path)!).toString().trim().split("\n");
        const at = line % lines.length;
        lines[at] = withValue(lines[at]!, field, odd);
        await look(changed(path, Buffer.from(lines.join("\n"))));
      },
    ),
    { numRuns: 80 },
  );
});

/** The line with its value number `place` (of any depth, in the order they are written) replaced by other text. */
function withValue(line: string, place: number, text: string): string {
  const mark = "the value that is replaced";
  const count = { values: 0 };
  JSON.parse(line, (_, value: unknown) => {
    count.values++;
    return value;
  });
  let at = place % count.values;
  const marked = JSON.stringify(JSON.parse(line, (_, value: unknown) => (at-- === 0 ? mark : value)));
  return marked.replace(JSON.stringify(mark), () => text);
}

test("a key of every object, and one that is written twice, make no other table", async () => {
  const { asked } = await look(log);
  const path = commitPath(4);
  const text = Buffer.from(log.get(path)!).toString();
  for (const line of [
    '{"__proto__":{"add":{"path":"evil","partitionValues":{"p":null},"size":1,"modificationTime":9007199254740993,"dataChange":true}}}',
    '{"constructor":{"prototype":{"add":1}},"n":9007199254740993}',
    '{"toString":null}',
  ])
    assert.deepEqual((await look(changed(path, Buffer.from(`${text}${line}\n`)))).asked, asked, line);
});

test("a damaged log names the file", async () => {
  const refused = async (files: Map<string, Uint8Array>, path: string) =>
    assert.rejects(
      readVersion(await storeOf(files), 7, signal),
      (error) => isLabError(error, "CORRUPT_LOG") && `${error.message} ${error.hint}`.includes(path),
      path,
    );
  await refused(changed(commitPath(7), Buffer.from('{"add":')), commitPath(7));
  const bare = new Map([...log].filter(([path]) => !path.includes("checkpoint")));
  bare.delete(commitPath(2));
  await refused(bare, commitPath(2));
  bare.set(partPath(6, 1, 2), log.get(checkpointPath(6))!);
  await refused(bare, partPath(6, 2, 2));
  bare.set(checkpointPath(6), Buffer.from("PAR1"));
  await refused(bare, checkpointPath(6));
});

/** The log with a V2 checkpoint as the only way to version 7. */
async function withV2(head: unknown[], sidecar?: string): Promise<Map<string, Uint8Array>> {
  const files = new Map([...log].filter(([path]) => path === commitPath(7)));
  const snapshot = await readVersion(await storeOf(log), 6, signal);
  const { protocol, metadata: metaData } = snapshot;
  const actions: Action[] = [
    ...[...snapshot.files()].map((add): Action => ({ add })),
    ...[...snapshot.tombstones()].map((remove): Action => ({ remove })),
  ];
  if (sidecar) files.set(`${SIDECAR_FOLDER}${sidecar}`, (await encodeCheckpoint(actions)).bytes);
  const txns = [...snapshot.txns().values()].map(
    ({ appId, version }) => `{"txn":{"appId":"${appId}","version":${version}}}`,
  );
  const lines = [...head, { protocol }, { metaData }].map((line) => JSON.stringify(line));
  files.set(`${beforeVersion(6)}.checkpoint.${UUID}.json`, Buffer.from([...lines, ...txns].join("\n")));
  return files;
}

test("a V2 checkpoint finds its sidecars by name, whatever folder their URIs have", async () => {
  const { asked } = await look(log);
  const marked = { checkpointMetadata: { version: 6 } };
  for (const path of ["s 1.parquet", "s%201.parquet", "file:/gone/t/_delta_log/_sidecars/s%201.parquet"]) {
    const files = await withV2(
      [marked, { sidecar: { path, sizeInBytes: 1, modificationTime: 1 } }],
      "s 1.parquet",
    );
    assert.deepEqual((await look(files)).asked, asked, path);
  }
});

test("a V2 checkpoint without its mark, of another version, or without its sidecar is refused, or not needed", async () => {
  const sidecar = { sidecar: { path: "s.parquet", sizeInBytes: 1, modificationTime: 1 } };
  const wrong = [
    await withV2([sidecar], "s.parquet"),
    await withV2([{ checkpointMetadata: { version: 5 } }, sidecar], "s.parquet"),
    await withV2([{ checkpointMetadata: { version: 6 } }, sidecar]),
  ];
  const { asked } = await look(log);
  for (const files of wrong) {
    assert.equal((await look(files)).asked, "CORRUPT_LOG");
    const commits = [...log].filter(([path]) => !path.includes("checkpoint"));
    assert.deepEqual((await look(new Map([...files, ...commits]))).asked, asked);
  }
});

test("a hint that is not what its checksum says is not followed", async () => {
  const read: string[] = [];
  const store = await storeOf(log);
  const follow = async (hint: string) => {
    read.length = 0;
    await store.put(LAST_CHECKPOINT, Buffer.from(hint), signal);
    const get: Store["get"] = (path, given) => {
      read.push(path);
      return store.get(path, given);
    };
    const list: Store["list"] = (prefix, options) => {
      read.push(options.startAfter ?? "");
      return store.list(prefix, options);
    };
    await openTable({ ...store, get, list }, signal);
    return read.includes(beforeVersion(3));
  };
  assert.ok(await follow('{"version":3,"size":9}'));
  assert.ok(!(await follow('{"version":3,"size":9,"checksum":"00000000000000000000000000000000"}')));
});
