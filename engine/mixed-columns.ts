/** Why a column is text: what messages had where others had something else, so that one odd message does not widen a column without a word. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { isStruct } from "../delta/schema.ts";
import type { DataType, StructField, StructType } from "../delta/types.ts";
import { MIXED_KEY } from "./infer.ts";
import { parseMessage } from "./json-exact.ts";
import { JsonNumber, type JsonValue } from "./json-parse.ts";
import { isoTimestamp } from "./json-time.ts";
import type { RawBatch } from "./raw-batch.ts";

/** A column that became text, and why. */
export type MixedColumn = { column: string; why: string };

/** Columns of `schema` that are text because messages differed, as `tellMixed` wrote it down. */
export function mixedColumns(schema: StructType): MixedColumn[] {
  return [...marked(schema, [])].flatMap(({ path, why }) =>
    why === "" ? [] : [{ column: path.join("."), why }],
  );
}

/**
 * The schema that was inferred of the batch, with a reason at each field that is text because messages differed: how many had which, and the first of the fewest.
 * The same object where there is none.
 */
export async function tellMixed(
  schema: StructType,
  batch: RawBatch,
  signal: AbortSignal,
): Promise<StructType> {
  const open = [...marked(schema, [])].filter(({ why }) => why === "");
  if (open.length === 0) return schema;
  const tallies = open.map(({ path }) => ({
    path,
    found: new Map<string, { count: number; first: number }>(),
  }));
  for (let i = 0; i < batch.length; i++) {
    const parsed = parseMessage(batch.value(i));
    if (parsed.kind === "object")
      for (const { path, found } of tallies) {
        const kinds = new Set<string>();
        collectKinds(parsed.object, path, kinds);
        for (const kind of kinds) {
          const known = found.get(kind) ?? { count: 0, first: i };
          found.set(kind, { ...known, count: known.count + 1 });
        }
      }
    if (i % TURN === TURN - 1) await nextTurn();
    signal.throwIfAborted();
  }
  const reasons = new Map(tallies.map(({ path, found }) => [path.join("\0"), reasonOf(found, batch)]));
  return withReasons(schema, [], reasons);
}

/** Messages looked at before other work of the process gets its turn. */
const TURN = 512;

/** Marked fields in structs at any depth, those in lists too. */
function* marked(schema: StructType, above: readonly string[]): Generator<{ path: string[]; why: string }> {
  for (const { name, type, metadata } of schema.fields) {
    const path = [...above, name];
    const why = metadata[MIXED_KEY];
    if (typeof why === "string") yield { path, why };
    const inner = structIn(type);
    if (inner !== undefined) yield* marked(inner, path);
  }
}

function structIn(type: DataType): StructType | undefined {
  if (typeof type === "string") return undefined;
  if (isStruct(type)) return type;
  return type.type === "array" ? structIn(type.elementType) : undefined;
}

function collectKinds(value: JsonValue | undefined, path: readonly string[], kinds: Set<string>): void {
  if (value === null || value === undefined) return;
  const [name, ...rest] = path;
  if (name === undefined) kinds.add(kindOf(value));
  else if (Array.isArray(value)) for (const element of value) collectKinds(element, path, kinds);
  else if (typeof value === "object" && !(value instanceof JsonNumber))
    collectKinds(Object.hasOwn(value, name) ? value[name] : null, rest, kinds);
}

function kindOf(value: Exclude<JsonValue, null>): string {
  if (value instanceof JsonNumber) return "a number";
  if (typeof value === "boolean") return "true or false";
  if (typeof value === "string")
    return isoTimestamp(value, { zone: true }).kind === "time" ? "a time" : "text";
  return Array.isArray(value) ? "a list" : "an object";
}

function reasonOf(found: ReadonlyMap<string, { count: number; first: number }>, batch: RawBatch): string {
  const [fewest, ...others] = [...found].sort(([, a], [, b]) => a.count - b.count);
  if (fewest === undefined || others.length === 0) return "messages differ";
  const [kind, { count, first }] = fewest;
  const all = [fewest, ...others].reduce((sum, [, one]) => sum + one.count, 0);
  const place = `${batch.topic(first)}/${batch.partition(first)}@${batch.offset(first)}`;
  const rest = others.map(([other]) => other).join(", ");
  return `${count.toLocaleString("en-US")} of ${all.toLocaleString("en-US")} messages had ${kind} there, first ${place}, where the others had ${rest}`;
}

function withReasons(
  schema: StructType,
  above: readonly string[],
  reasons: ReadonlyMap<string, string>,
): StructType {
  const fields = schema.fields.map((field): StructField => {
    const path = [...above, field.name];
    const why = reasons.get(path.join("\0"));
    const metadata = why === undefined ? field.metadata : { ...field.metadata, [MIXED_KEY]: why };
    return { ...field, metadata, type: withReasonsIn(field.type, path, reasons) };
  });
  return { ...schema, fields };
}

function withReasonsIn(
  type: DataType,
  path: readonly string[],
  reasons: ReadonlyMap<string, string>,
): DataType {
  if (typeof type === "string") return type;
  if (isStruct(type)) return withReasons(type, path, reasons);
  if (type.type !== "array") return type;
  return { ...type, elementType: withReasonsIn(type.elementType, path, reasons) };
}
