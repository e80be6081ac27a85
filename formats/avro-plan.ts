/** A schema as a table's columns and as a reader of its values: both are made together, so that they agree. */

import type { StructType } from "../delta/types.ts";
import { AvroFault } from "./avro-fault.ts";
import { fixedSize, logicalPlan, type ReadValue, type ValuePlan } from "./avro-logical.ts";
import {
  type Inner,
  memberReader,
  planArray,
  planEnum,
  planMap,
  planRecord,
  planUnion,
  struct,
} from "./avro-nested.ts";
import { AnnotatedType, type AvroType } from "./avro-schema.ts";

export type AvroPlan = {
  columns: StructType;
  /** Writes a value as the JSON of an object with these columns. Throws an AvroFault. */
  read: ReadValue;
};

/** The one column of values that are no records. */
const VALUE = "value";
/** `_kafka` belongs to the record's origin, whatever a message says. */
const RESERVED = "_kafka";
/** Deeper, or with more columns, a table is of no use to engines; what is beyond becomes JSON text. */
const MOST_LEVELS = 50;
const MOST_COLUMNS = 5000;

const NESTED = new Set(["record", "error", "array", "map", "union:wrapped"]);
const NULL = Buffer.from("null");

/** Throws where the schema is too deep to be planned. */
export function planAvro(schema: AvroType): AvroPlan {
  const texts = new Map<AvroType, ReadValue>();
  let columns = 0;

  function asColumn(annotated: AvroType, within: readonly AvroType[]): ValuePlan {
    const type = bare(annotated);
    const isCut = within.includes(type) || within.length > MOST_LEVELS || columns > MOST_COLUMNS;
    if (isCut && NESTED.has(type.typeName)) return { column: "string", read: embedded(asText(type).read) };
    columns++;
    return planType(type, (inner) => asColumn(inner, [...within, type]));
  }

  function asText(annotated: AvroType): ValuePlan {
    const type = bare(annotated);
    let read = texts.get(type);
    if (!read) {
      // A type that holds itself finds this one while it is being made.
      let made: ReadValue | undefined;
      texts.set(type, (input, output) => made!(input, output));
      made = planType(type, asText).read;
      texts.set(type, made);
      read = made;
    }
    return { column: "string", read };
  }

  const root = bare(schema);
  const { column, read } = asColumn(root, []);
  if (root.typeName !== "record" && root.typeName !== "error")
    return { columns: struct([[VALUE, column]]), read: memberReader(VALUE, read) };
  // One without fields has no columns either.
  const fields = typeof column === "object" && column.type === "struct" ? column.fields : [];
  return { columns: { type: "struct", fields: fields.filter(({ name }) => name !== RESERVED) }, read };
}

/** Without an annotation that says nothing here. */
function bare(type: AvroType): AvroType {
  return type instanceof AnnotatedType && !logicalPlan(type) ? type.underlyingType : type;
}

function planType(type: AvroType, inner: Inner): ValuePlan {
  if (type instanceof AnnotatedType) return logicalPlan(type)!;
  switch (type.typeName) {
    case "null":
      return { column: "string", read: (_, output) => output.raw(NULL) };
    case "boolean":
      return { column: "boolean", read: (input, output) => output.ascii(String(input.boolean())) };
    case "int":
      return { column: "integer", read: (input, output) => output.ascii(String(input.int())) };
    case "long":
      return { column: "long", read: (input, output) => output.ascii(String(input.long())) };
    case "float":
      return { column: "float", read: (input, output) => output.ascii(numberText(input.float())) };
    case "double":
      return { column: "double", read: (input, output) => output.ascii(numberText(input.double())) };
    case "string":
      return { column: "string", read: readString };
    case "bytes":
      return { column: "binary", read: base64((input) => input.length()) };
    case "fixed": {
      const size = fixedSize(type)!;
      return { column: "binary", read: base64(() => size) };
    }
    case "enum":
      return planEnum((type as unknown as { symbols: readonly string[] }).symbols);
    case "array":
      return planArray(inner((type as unknown as { itemsType: AvroType }).itemsType));
    case "map":
      return planMap(inner((type as unknown as { valuesType: AvroType }).valuesType));
    case "record":
    case "error":
      return planRecord(
        (type as unknown as { fields: readonly { name: string; type: AvroType }[] }).fields,
        inner,
      );
    case "union:wrapped":
      return planUnion((type as unknown as { types: readonly AvroType[] }).types, inner);
  }
  throw new Error(`a type that is not known: ${type.typeName}`);
}

const readString: ReadValue = (input, output) => {
  const length = input.length();
  output.utf8(input.bytes(), input.skip(length), input.position());
};

function base64(size: (input: Parameters<ReadValue>[0]) => number): ReadValue {
  return (input, output) => {
    const length = size(input);
    const from = input.skip(length);
    output.ascii(`"${input.bytes().toString("base64", from, from + length)}"`);
  };
}

/** JSON as the text of a column. */
function embedded(read: ReadValue): ReadValue {
  return (input, output) => {
    const start = output.position();
    read(input, output);
    output.quoteSince(start);
  };
}

/** With an exponent where DuckDB would take whole digits for an integer; the sign of zero is kept. */
function numberText(value: number): string {
  if (!Number.isFinite(value))
    throw new AvroFault("NOT_FINITE", `the value is ${value}, which JSON has no number for`);
  if (Object.is(value, -0)) return "-0.0";
  return Math.abs(value) < 1e15 ? String(value) : value.toExponential();
}
