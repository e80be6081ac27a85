import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import type { Action } from "./actions.ts";
import { parseCommit, serializeCommit } from "./commit-file.ts";

const parse = (text: string) => parseCommit(Buffer.from(text), "c.json");

const everyKind: Action[] = [
  { commitInfo: { operation: "WRITE", txnId: "t", lab: { offset: 2n ** 62n } } },
  {
    protocol: { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ["a"], writerFeatures: ["a", "b"] },
  },
  {
    metaData: {
      id: "i",
      name: "n",
      format: { provider: "parquet", options: {} },
      schemaString: "{}",
      partitionColumns: ["p"],
      configuration: { k: "v" },
      createdTime: 5,
    },
  },
  { txn: { appId: "lab/t-0", version: 2n ** 63n - 1n } },
  { domainMetadata: { domain: "d", configuration: "{}", removed: false } },
  {
    remove: {
      path: "x",
      dataChange: true,
      deletionTimestamp: 3,
      extendedFileMetadata: true,
      partitionValues: { p: null },
      size: 4,
    },
  },
  {
    add: {
      path: "y%20z",
      partitionValues: { p: "a" },
      size: 9,
      modificationTime: 8,
      dataChange: false,
      stats: '{"numRecords":1}',
      tags: { t: "u" },
      deletionVector: {
        storageType: "u",
        pathOrInlineDv: "ab",
        offset: 1,
        sizeInBytes: 2,
        cardinality: 2n ** 54n,
      },
      baseRowId: 3n,
      defaultRowCommitVersion: 4n,
      clusteringProvider: "c",
    },
  },
  { cdc: { path: "_change_data/x", partitionValues: {}, size: 1, dataChange: false } },
];

test("every action comes back as it was written, 64-bit numbers included", () => {
  assert.deepEqual(parseCommit(serializeCommit(everyKind), "c.json"), everyKind);
});

test("commitInfo is the first line, wherever it stood", () => {
  const text = Buffer.from(serializeCommit([...everyKind].reverse())).toString();
  assert.match(text, /^\{"commitInfo":/);
  assert.equal(text.split("\n").length, everyKind.length + 1);
});

test("unknown actions and fields, empty lines and a missing last line end are fine", () => {
  assert.deepEqual(parse('{"future":{"x":1}}\n\n{"txn":{"appId":"a","version":1,"new":2},"other":3}'), [
    { txn: { appId: "a", version: 1n } },
  ]);
});

test("a commitInfo of any shape is taken", () => {
  assert.deepEqual(parse('{"commitInfo":{"operationParameters":{"a":[1,{"b":null}]},"timestamp":"x"}}'), [
    { commitInfo: { operationParameters: { a: [1, { b: null }] }, timestamp: "x" } },
  ]);
});

test("absent and null optional fields are the same", () => {
  assert.deepEqual(
    parse(
      '{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":2,"dataChange":true,"stats":null,"tags":null}}',
    ),
    [{ add: { path: "p", partitionValues: {}, size: 1, modificationTime: 2, dataChange: true } }],
  );
});

for (const [what, line] of [
  ["a cut line", '{"add":{"path":"p"'],
  ["a line that is no object", "[1]"],
  ["an add without a path", '{"add":{"partitionValues":{},"size":1,"modificationTime":2}}'],
  ["a size that is text", '{"add":{"path":"p","partitionValues":{},"size":"1","modificationTime":2}}'],
  [
    "a partition value that is a number",
    '{"add":{"path":"p","partitionValues":{"a":1},"size":1,"modificationTime":2}}',
  ],
  ["a fractional transaction version", '{"txn":{"appId":"a","version":1.5}}'],
  ["a negative size", '{"add":{"path":"p","partitionValues":{},"size":-1,"modificationTime":2}}'],
  [
    "a size beyond all numbers",
    '{"add":{"path":"p","partitionValues":{},"size":1e400,"modificationTime":2}}',
  ],
  [
    "a time beyond all numbers",
    '{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":1e400}}',
  ],
  [
    "tags that are no object",
    '{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":2,"tags":3}}',
  ],
  [
    "features that are one text",
    '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":"x"}}',
  ],
  ["partition columns that are one text", '{"metaData":{"id":"i","partitionColumns":"p"}}'],
  ["a schema that is no text", '{"metaData":{"id":"i","schemaString":{"type":"struct","fields":[]}}}'],
  ["a configuration that is a list", '{"metaData":{"id":"i","configuration":["a"]}}'],
  [
    "a vector of a negative length",
    '{"remove":{"path":"p","deletionVector":{"storageType":"u","pathOrInlineDv":"x","sizeInBytes":-9,"cardinality":1}}}',
  ],
] as const) {
  test(`${what} is CORRUPT_LOG, naming file and line`, () => {
    assert.throws(
      () => parse(`{"txn":{"appId":"a","version":1}}\n${line}\n`),
      (error) => isLabError(error, "CORRUPT_LOG") && /c\.json, line 2/.test(error.message),
    );
  });
}

test("bytes that are not UTF-8 are CORRUPT_LOG, not other characters", () => {
  const bytes = Buffer.from('{"add":{"path":"p","partitionValues":{"a":"?"},"size":1,"modificationTime":2}}');
  bytes[bytes.indexOf("?")] = 0xff;
  assert.throws(
    () => parseCommit(bytes, "c.json"),
    (error) => isLabError(error, "CORRUPT_LOG"),
  );
});
