/** Commit files: one action a line, between bytes and typed actions (PROTOCOL.md, "Delta Log Entries"). */

import { isUtf8 } from "node:buffer";
import { LabError } from "../core/errors.ts";
import type { Action, DeletionVector } from "./actions.ts";
import { parseJson, stringifyJson } from "./json.ts";

/** The bytes of a commit file: commitInfo first, as in-commit timestamps ask for. */
export function serializeCommit(actions: readonly Action[]): Uint8Array {
  const infoFirst = [
    ...actions.filter((action) => "commitInfo" in action),
    ...actions.filter((action) => !("commitInfo" in action)),
  ];
  return Buffer.from(infoFirst.map((action) => `${stringifyJson(action)}\n`).join(""));
}

/** The actions of a commit file. Unknown actions and fields are left out. CORRUPT_LOG names `path` and the line. */
export function parseCommit(bytes: Uint8Array, path: string): Action[] {
  // Other bytes would become replacement characters, in partition values too.
  if (!isUtf8(bytes)) throw damaged(path, 0, new TypeError("it is not UTF-8"));
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  const actions: Action[] = [];
  let line = 0;
  for (const source of text.split("\n")) {
    line++;
    if (source.trim() === "") continue;
    try {
      const action = toAction(parseJson(source));
      if (action) actions.push(action);
    } catch (cause) {
      throw damaged(path, line, cause as Error);
    }
  }
  return actions;
}

function damaged(path: string, line: number, cause: Error): LabError {
  const place = line === 0 ? path : `${path}, line ${line}`;
  return new LabError("CORRUPT_LOG", `${place}: ${cause.message}`, {
    hint: "the file is damaged: restore it from a copy, or read an older version",
    details: { path, line },
    cause,
  });
}

/** A parsed line as an action; undefined for actions that a reader ignores. Throws where a known action is malformed. */
export function toAction(line: unknown): Action | undefined {
  const record = object(line, "a line");
  for (const kind of Object.keys(READERS) as (keyof typeof READERS)[]) {
    const body = record[kind];
    if (body !== undefined && body !== null) return READERS[kind](object(body, kind));
  }
  return undefined;
}

type Fields = Record<string, unknown>;

/** Metadata without a schema is that of a table without columns. */
const NO_COLUMNS = '{"type":"struct","fields":[]}';

const READERS = {
  add: (from: Fields): Action => ({
    add: {
      path: text(from, "path"),
      partitionValues: stringMap(from, "partitionValues"),
      size: bytesOf(from.size, "size"),
      modificationTime: number(from, "modificationTime"),
      dataChange: from.dataChange !== false,
      ...optional("stats", from.stats, textOf),
      ...optional("tags", from.tags, (tags) => object(tags, "tags") as Record<string, string>),
      ...fileExtras(from),
      ...optional("clusteringProvider", from.clusteringProvider, textOf),
    },
  }),
  remove: (from: Fields): Action => ({
    remove: {
      path: text(from, "path"),
      dataChange: from.dataChange !== false,
      ...optional("deletionTimestamp", from.deletionTimestamp, () => number(from, "deletionTimestamp")),
      ...optional("extendedFileMetadata", from.extendedFileMetadata, Boolean),
      ...optional("partitionValues", from.partitionValues, () => stringMap(from, "partitionValues")),
      ...optional("size", from.size, (size) => bytesOf(size, "size")),
      ...fileExtras(from),
    },
  }),
  cdc: (from: Fields): Action => ({
    cdc: {
      path: text(from, "path"),
      partitionValues: stringMap(from, "partitionValues"),
      size: bytesOf(from.size, "size"),
      dataChange: false,
      ...optional("tags", from.tags, (tags) => object(tags, "tags") as Record<string, string>),
    },
  }),
  txn: (from: Fields): Action => ({
    txn: {
      appId: text(from, "appId"),
      version: long(from.version, "version"),
      ...optional("lastUpdated", from.lastUpdated, () => number(from, "lastUpdated")),
    },
  }),
  protocol: (from: Fields): Action => ({
    protocol: {
      minReaderVersion: number(from, "minReaderVersion"),
      minWriterVersion: number(from, "minWriterVersion"),
      ...optional("readerFeatures", from.readerFeatures, (list) => texts(list, "readerFeatures")),
      ...optional("writerFeatures", from.writerFeatures, (list) => texts(list, "writerFeatures")),
    },
  }),
  metaData: (from: Fields): Action => {
    const format = object(from.format ?? {}, "format");
    return {
      metaData: {
        id: text(from, "id"),
        ...optional("name", from.name, textOf),
        ...optional("description", from.description, textOf),
        format: {
          provider: typeof format.provider === "string" ? format.provider : "parquet",
          options: object(format.options ?? {}, "options") as Record<string, string>,
        },
        schemaString: (from.schemaString ?? null) === null ? NO_COLUMNS : text(from, "schemaString"),
        partitionColumns: texts(from.partitionColumns ?? [], "partitionColumns"),
        configuration: { ...(object(from.configuration ?? {}, "configuration") as Record<string, string>) },
        ...optional("createdTime", from.createdTime, () => number(from, "createdTime")),
      },
    };
  },
  domainMetadata: (from: Fields): Action => ({
    domainMetadata: {
      domain: text(from, "domain"),
      configuration: typeof from.configuration === "string" ? from.configuration : "",
      removed: from.removed === true,
    },
  }),
  commitInfo: (from: Fields): Action => ({ commitInfo: from }),
};

function fileExtras(from: Fields): {
  deletionVector?: DeletionVector;
  baseRowId?: bigint;
  defaultRowCommitVersion?: bigint;
} {
  return {
    ...optional("deletionVector", from.deletionVector, deletionVector),
    ...optional("baseRowId", from.baseRowId, (value) => long(value, "baseRowId")),
    ...optional("defaultRowCommitVersion", from.defaultRowCommitVersion, (value) =>
      long(value, "defaultRowCommitVersion"),
    ),
  };
}

function deletionVector(value: unknown): DeletionVector {
  const from = object(value, "deletionVector");
  return {
    storageType: text(from, "storageType") as DeletionVector["storageType"],
    pathOrInlineDv: text(from, "pathOrInlineDv"),
    ...optional("offset", from.offset, (offset) => bytesOf(offset, "offset")),
    sizeInBytes: bytesOf(from.sizeInBytes, "sizeInBytes"),
    cardinality: long(from.cardinality, "cardinality"),
  };
}

function object(value: unknown, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new TypeError(`${what} is not an object`);
}

function text(from: Fields, key: string): string {
  const value = from[key];
  if (typeof value === "string") return value;
  throw new TypeError(`"${key}" is not a string`);
}

function texts(value: unknown, key: string): string[] {
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return [...value];
  throw new TypeError(`"${key}" is not a list of strings`);
}

function number(from: Fields, key: string): number {
  const value = from[key];
  const plain = typeof value === "bigint" ? Number(value) : value;
  // JSON.parse makes an infinity of 1e400.
  if (typeof plain === "number" && Number.isFinite(plain)) return plain;
  throw new TypeError(`"${key}" is not a number`);
}

function bytesOf(value: unknown, key: string): number {
  // Checkpoints give bigint for every long.
  const plain = typeof value === "bigint" ? Number(value) : value;
  if (typeof plain === "number" && Number.isSafeInteger(plain) && plain >= 0) return plain;
  throw new TypeError(`"${key}" is not a number of bytes`);
}

function long(value: unknown, key: string): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value);
  throw new TypeError(`"${key}" is not a whole number`);
}

function stringMap(from: Fields, key: string): Record<string, string | null> {
  const map = object(from[key] ?? {}, key);
  for (const [name, value] of Object.entries(map)) {
    if (value !== null && typeof value !== "string") throw new TypeError(`"${key}.${name}" is not a string`);
  }
  return map as Record<string, string | null>;
}

function textOf(value: unknown): string {
  return String(value);
}

/** `{key: read(value)}`, or nothing where the value is absent or null. */
function optional<K extends string, T>(
  key: K,
  value: unknown,
  read: (value: unknown) => T,
): { [P in K]?: T } {
  return value === undefined || value === null ? {} : ({ [key]: read(value) } as { [P in K]: T });
}
