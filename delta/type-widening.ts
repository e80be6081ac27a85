/** Changes of a column's type that leave its files as they are (PROTOCOL.md, "Type Widening"). */

import { LabError } from "../core/errors.ts";
import type { Metadata, Protocol } from "./actions.ts";
import { constraintsOf } from "./constraints.ts";
import { isActive } from "./protocol.ts";
import { decimalOf } from "./schema.ts";
import type { DataType, PrimitiveType, StructField, StructType } from "./types.ts";

/** Whether a column, or what is inside of it, may change from one type to another; `column` is the name at the top. */
export type Widen = (column: string, from: DataType, to: DataType) => boolean;

const CHANGES_KEY = "delta.typeChanges";
const INTEGERS = ["byte", "short", "integer", "long"];
/** Digits that a decimal needs for every value of a type. */
const DIGITS: Readonly<Record<string, number>> = { byte: 10, short: 10, integer: 10, long: 20 };

/**
 * What the table lets its columns become; undefined where it lets nothing change. It needs feature `typeWidening` and `delta.enableTypeWidening`, and
 * no constraint: what that means for the new type is not known. The preview of the feature wants versions noted that a writer cannot know.
 */
export function widenOf(protocol: Protocol, metadata: Metadata, schema: StructType): Widen | undefined {
  if (!isActive(protocol, metadata, "delta.enableTypeWidening", "typeWidening")) return undefined;
  if (constraintsOf(metadata, schema).some(({ kind }) => kind !== "notNull")) return undefined;
  return (_column, from, to) => canWiden(from, to);
}

/** Whether the protocol lets a type become another, wider one: all of its values are in there. Not for dates, whose texts would then be no values. */
export function canWiden(from: DataType, to: DataType): boolean {
  if (typeof from !== "string" || typeof to !== "string" || from === to) return false;
  const rank = INTEGERS.indexOf(from);
  if (rank >= 0 && INTEGERS.indexOf(to) > rank) return true;
  if (to === "double") return from === "float" || (rank >= 0 && from !== "long");
  const [narrow, wide] = [asDecimal(from), decimalOf(to)];
  if (!narrow || !wide) return false;
  const moreScale = wide.scale - narrow.scale;
  return moreScale >= 0 && wide.precision - narrow.precision >= moreScale;
}

/** The narrowest type that both are or can be widened to; undefined where there is none. */
export function commonType(one: DataType, other: DataType): PrimitiveType | undefined {
  if (typeof one !== "string" || typeof other !== "string") return undefined;
  const both = (to: PrimitiveType) => [one, other].every((from) => from === to || canWiden(from, to));
  for (const to of [one, other, "double"] as const) if (both(to)) return to;
  const [a, b] = [asDecimal(one), asDecimal(other)];
  if (!a || !b) return undefined;
  const scale = Math.max(a.scale, b.scale);
  const precision = scale + Math.max(a.precision - a.scale, b.precision - b.scale);
  return precision <= 38 ? `decimal(${precision},${scale})` : undefined;
}

function asDecimal(type: PrimitiveType): { precision: number; scale: number } | undefined {
  const digits = DIGITS[type];
  return digits === undefined ? decimalOf(type) : { precision: digits, scale: 0 };
}

/** `after` with a note, in the field next to it, of each type that is another than in `before`, as readers want it. */
export function withTypeChanges(before: StructType, after: StructType): StructType {
  const old = new Map(before.fields.map((field) => [field.name, field]));
  const fields = after.fields.map((field): StructField => {
    const was = old.get(field.name);
    if (was === undefined || was.type === field.type) return field;
    const changes: TypeChange[] = [];
    const type = compare(was.type, field.type, [], changes, withTypeChanges);
    if (changes.length === 0) return { ...field, type };
    return {
      ...field,
      type,
      metadata: { ...field.metadata, [CHANGES_KEY]: [...notesOf(field), ...changes] },
    };
  });
  return { type: "struct", fields };
}

/**
 * SCHEMA_MISMATCH, naming the column, where a commit that keeps the table's files would give one of its columns another type that the
 * table does not allow, or without a note for readers.
 */
export function checkTypeChanges(before: StructType, after: StructType, allowed: Widen | undefined): void {
  const check = (old: StructType, now: StructType, top?: string): StructType => {
    for (const field of now.fields) {
      const was = old.fields.find(({ name }) => name === field.name);
      const column = top ?? field.name;
      const changes: TypeChange[] = [];
      if (was) compare(was.type, field.type, [], changes, (one, other) => check(one, other, column));
      for (const { fromType, toType, fieldPath } of changes) {
        const isNoted = notesOf(field).some((note) => note.toType === toType && note.fieldPath === fieldPath);
        if (!isNoted || !allowed?.(column, fromType, toType)) throw refused(column, fromType, toType);
      }
    }
    return now;
  };
  check(before, after);
}

type TypeChange = { fromType: DataType; toType: DataType; fieldPath?: string };

function notesOf({ metadata }: StructField): TypeChange[] {
  const noted = metadata[CHANGES_KEY];
  return Array.isArray(noted) ? noted : [];
}

/** Collects where two types differ, and gives `after` with what `inside` makes of the structs in it, which have notes of their own. */
function compare(
  before: DataType,
  after: DataType,
  path: readonly string[],
  changes: TypeChange[],
  inside: (before: StructType, after: StructType) => StructType,
): DataType {
  const into = (one: DataType, other: DataType, step: string) =>
    compare(one, other, [...path, step], changes, inside);
  // No file holds a value of a void column, so any type may follow.
  if (before === after || before === "void") return after;
  if (typeof before === "object" && typeof after === "object") {
    if (before.type === "struct" && after.type === "struct") return inside(before, after);
    if (before.type === "array" && after.type === "array")
      return { ...after, elementType: into(before.elementType, after.elementType, "element") };
    if (before.type === "map" && after.type === "map") {
      const keyType = into(before.keyType, after.keyType, "key");
      return { ...after, keyType, valueType: into(before.valueType, after.valueType, "value") };
    }
  }
  const fieldPath = path.length === 0 ? {} : { fieldPath: path.join(".") };
  changes.push({ fromType: before, toType: after, ...fieldPath });
  return after;
}

function refused(column: string, fromType: DataType, toType: DataType): LabError {
  const [from, to] = [fromType, toType].map((type) => (typeof type === "string" ? type : type.type));
  return new LabError("SCHEMA_MISMATCH", `column ${column} is ${from} and cannot become ${to}`, {
    hint: "types widen where a table has feature typeWidening, delta.enableTypeWidening = true, and no constraints",
    details: { column, from, to },
  });
}
