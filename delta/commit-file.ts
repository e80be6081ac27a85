/** Commit files: one action a line, between bytes and typed actions (PROTOCOL.md, "Delta Log Entries"). */

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
      throw new LabError("CORRUPT_LOG", `${path}, line ${line}: ${(cause as Error).message}`, {
        hint: "the commit file is damaged; restore it from a copy, or read an older version",
        details: { path, line },
        cause,
      });
    }
  }
  return actions;
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
      size: number(from, "size"),
      modificationTime: number(from, "modificationTime"),
      dataChange: from.dataChange !== false,
      ...optional("stats", from.stats, textOf),
      ...optional("tags", from.tags, (tags) => tags as Record<string, string>),
      ...fileExtras(from),
      ...optional("clusteringProvider", from.clusteringProvider, textOf),
    },
  }),
  remove: (from: Fields): Action => ({
    remove: {
      path: text(from, "path"),
      dataChange: from.dataChange !== false,
      ...optional("deletionTimestamp", from.deletionTimestamp, Number),
      ...optional("extendedFileMetadata", from.extendedFileMetadata, Boolean),
      ...optional("partitionValues", from.partitionValues, () => stringMap(from, "partitionValues")),
      ...optional("size", from.size, Number),
      ...fileExtras(from),
    },
  }),
  cdc: (from: Fields): Action => ({
    cdc: {
      path: text(from, "path"),
      partitionValues: stringMap(from, "partitionValues"),
      size: number(from, "size"),
      dataChange: false,
      ...optional("tags", from.tags, (tags) => tags as Record<string, string>),
    },
  }),
  txn: (from: Fields): Action => ({
    txn: {
      appId: text(from, "appId"),
      version: long(from.version, "version"),
      ...optional("lastUpdated", from.lastUpdated, Number),
    },
  }),
  protocol: (from: Fields): Action => ({
    protocol: {
      minReaderVersion: number(from, "minReaderVersion"),
      minWriterVersion: number(from, "minWriterVersion"),
      ...optional("readerFeatures", from.readerFeatures, (list) => [...(list as string[])]),
      ...optional("writerFeatures", from.writerFeatures, (list) => [...(list as string[])]),
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
          options: (format.options ?? {}) as Record<string, string>,
        },
        schemaString: typeof from.schemaString === "string" ? from.schemaString : NO_COLUMNS,
        partitionColumns: [...((from.partitionColumns ?? []) as string[])],
        configuration: { ...((from.configuration ?? {}) as Record<string, string>) },
        ...optional("createdTime", from.createdTime, Number),
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
    ...optional("offset", from.offset, Number),
    sizeInBytes: number(from, "sizeInBytes"),
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

function number(from: Fields, key: string): number {
  const value = from[key];
  if (typeof value === "number" || typeof value === "bigint") return Number(value);
  throw new TypeError(`"${key}" is not a number`);
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
