/** Types that hold others: how each becomes a column and is read, given how what it holds is. */

import type { DataType, StructField, StructType } from "../delta/types.ts";
import { AvroFault, malformed } from "./avro-fault.ts";
import type { ReadValue, ValuePlan } from "./avro-logical.ts";
import { AnnotatedType, type AvroType } from "./avro-schema.ts";

/** How the types inside of a type are read: as columns of their own, or within one JSON text. */
export type Inner = (type: AvroType) => ValuePlan;

const [COMMA, COLON, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [...Buffer.from(",:[]{}")] as [
  number,
  number,
  number,
  number,
  number,
  number,
];
const NULL = Buffer.from("null");
const readNull: ReadValue = (_, output) => output.raw(NULL);

type RecordField = { name: string; type: AvroType };

export function planEnum(symbols: readonly string[]): ValuePlan {
  const texts = symbols.map((symbol) => `"${symbol}"`);
  return {
    column: "string",
    read(input, output) {
      const index = input.int();
      const text = texts[index];
      if (text === undefined) throw malformed(`an enum of ${texts.length} symbols has number ${index}`);
      output.ascii(text);
    },
  };
}

export function planArray(item: ValuePlan): ValuePlan {
  return {
    column: { type: "array", elementType: item.column, containsNull: true },
    read(input, output) {
      input.enter();
      output.byte(OPEN_BRACKET);
      let index = 0;
      try {
        for (let left = input.blockCount(); left > 0; left = input.blockCount()) {
          for (; left > 0; left--, index++) {
            const before = input.position();
            if (index > 0) output.byte(COMMA);
            item.read(input, output);
            if (input.position() === before) input.countEmpty();
          }
        }
      } catch (fault) {
        throw at(`[${index}]`, fault);
      }
      output.byte(CLOSE_BRACKET);
      input.leave();
    },
  };
}

export function planMap(value: ValuePlan): ValuePlan {
  return {
    column: { type: "map", keyType: "string", valueType: value.column, valueContainsNull: true },
    read(input, output) {
      input.enter();
      output.byte(OPEN_BRACE);
      let index = 0;
      try {
        for (let left = input.blockCount(); left > 0; left = input.blockCount()) {
          for (; left > 0; left--, index++) {
            if (index > 0) output.byte(COMMA);
            const length = input.length();
            output.utf8(input.bytes(), input.skip(length), input.position());
            output.byte(COLON);
            value.read(input, output);
          }
        }
      } catch (fault) {
        throw at(`{${index}}`, fault);
      }
      output.byte(CLOSE_BRACE);
      input.leave();
    },
  };
}

export function planRecord(fields: readonly RecordField[], inner: Inner): ValuePlan {
  const plans = fields.map(({ type }) => inner(type));
  const readers = plans.map(({ read }) => read);
  const names = fields.map(({ name }, i) => Buffer.from(`${i === 0 ? "{" : ","}${JSON.stringify(name)}:`));
  const column: DataType =
    fields.length === 0
      ? { type: "map", keyType: "string", valueType: "string", valueContainsNull: true }
      : struct(fields.map(({ name }, i) => [name, plans[i]!.column]));
  return {
    column,
    read(input, output) {
      input.enter();
      if (readers.length === 0) output.byte(OPEN_BRACE);
      let i = 0;
      try {
        for (; i < readers.length; i++) {
          const before = input.position();
          output.raw(names[i]!);
          readers[i]!(input, output);
          if (input.position() === before) input.countEmpty();
        }
      } catch (fault) {
        throw at(`.${fields[i]!.name}`, fault);
      }
      output.byte(CLOSE_BRACE);
      input.leave();
    },
  };
}

/** With null and one other branch the value or null; with more, an object with the one member that is there, named by its branch. */
export function planUnion(types: readonly AvroType[], inner: Inner): ValuePlan {
  const named = types.filter(({ typeName }) => typeName !== "null");
  const members = branchNames(named);
  const plans = new Map(named.map((type) => [type, inner(type)]));
  const isPlain = named.length < 2;
  const readers = types.map((type) => {
    const plan = plans.get(type);
    if (!plan) return readNull;
    return isPlain ? plan.read : memberReader(members.get(type)!, plan.read);
  });
  const read: ReadValue = (input, output) => {
    const index = input.long();
    const reader = typeof index === "number" ? readers[index] : undefined;
    if (!reader) throw malformed(`a union of ${readers.length} branches has number ${index}`);
    reader(input, output);
  };
  if (named.length === 0) return { column: "string", read };
  if (isPlain) return { column: plans.get(named[0]!)!.column, read };
  return { column: struct(named.map((type) => [members.get(type)!, plans.get(type)!.column])), read };
}

/** The name without its namespace, or all of it with _ for the points where two are the same otherwise. */
function branchNames(types: readonly AvroType[]): Map<AvroType, string> {
  const short = types.map((type) => branchName(type).replace(/^.*\./, ""));
  return new Map(
    types.map((type, i) => {
      const isTwin = short.some((other, j) => i !== j && other.toLowerCase() === short[i]!.toLowerCase());
      return [type, isTwin ? branchName(type).replaceAll(".", "_") : short[i]!];
    }),
  );
}

function branchName(type: AvroType): string {
  return (type instanceof AnnotatedType ? type.underlyingType.branchName : type.branchName) ?? type.typeName;
}

export function memberReader(name: string, read: ReadValue): ReadValue {
  const opening = Buffer.from(`{${JSON.stringify(name)}:`);
  return (input, output) => {
    output.raw(opening);
    try {
      read(input, output);
    } catch (fault) {
      throw at(`.${name}`, fault);
    }
    output.byte(CLOSE_BRACE);
  };
}

/** Of names that differ by case only the first becomes a column, as with JSON. Anything may be null: a later writer may lack it. */
export function struct(members: readonly (readonly [name: string, type: DataType])[]): StructType {
  const fields = new Map<string, StructField>();
  for (const [name, type] of members) {
    const key = name.toLowerCase();
    if (!fields.has(key)) fields.set(key, { name, type, nullable: true, metadata: {} });
  }
  return { type: "struct", fields: [...fields.values()] };
}

function at(place: string, fault: unknown): unknown {
  if (fault instanceof AvroFault) fault.path.unshift(place);
  return fault;
}
