/** What reading a Protobuf message takes, made once for each: its fields by number, what absent ones mean, and its columns. */

import type { Field, MapField, Reader, Type } from "protobufjs";
import protobuf from "protobufjs";
import { LabError } from "../core/errors.ts";
import type { DataType, StructField, StructType } from "../delta/types.ts";
import { knownMessage } from "./protobuf-known.ts";
import { enumRead, SCALARS } from "./protobuf-scalars.ts";

/** What was read of one field: JSON of a scalar, a message's fields by their place, all that was repeated, or entries by their key in JSON. */
export type Slot = string | Slots | Slot[] | Map<string, Slot>;
export type Slots = { fields: (Slot | undefined)[] };

export type MessagePlan = {
  /** Without the dot that protobufjs puts first. */
  name: string;
  fields: FieldPlan[];
  byId: Map<number, FieldPlan>;
  /** Says what was read in another way than as an object of the fields; for what Google defines. */
  print: ((slots: Slots, name: string) => string) | undefined;
};

export type FieldPlan = {
  id: number;
  place: number;
  /** With the name of its message, for messages about it. */
  fullName: string;
  /** `"name":` in JSON. */
  key: string;
  shape: "single" | "repeated" | "map";
  /** The wire type of one value. */
  wire: number;
  isPackable: boolean;
  /** Reads a scalar as JSON; undefined where values are messages. */
  read: ((reader: Reader, fullName: string) => string) | undefined;
  /** A map's entry as a message. A function, since messages may be within themselves. */
  message: (() => MessagePlan) | undefined;
  /** Its JSON becomes a text: what holds messages of its own kind has no columns. */
  isText: boolean;
  /** JSON where it does not come; undefined: it is left out. */
  absent: string | undefined;
  isRequired: boolean;
  /** Places of the others of its oneof. */
  rivals: readonly number[];
};

export type RootPlan = { message: MessagePlan; columns: StructType | null };

const DELIMITED = 2;
const GROUP = 3;
const MOST_COLUMNS = 10_000;
const EMPTY_OBJECT: DataType = {
  type: "map",
  keyType: "string",
  valueType: "string",
  valueContainsNull: true,
};

/** The plan for messages of `type`. SCHEMA_INVALID where they would have more columns than a table can be asked to have. */
export function planMessage(type: Type): RootPlan {
  const texts = new Map<Type, MessagePlan>();
  let columns = 0;

  /** A message within a text: any depth, no columns. */
  function textPlan(of: Type): MessagePlan {
    const made = texts.get(of);
    if (made) return made;
    const plan = emptyPlan(of);
    texts.set(of, plan);
    for (const field of fieldsOf(of)) {
      const message = messageOf(field);
      add(plan, field, message && (() => textPlan(message)), false);
    }
    return plan;
  }

  function columnPlan(of: Type, around: readonly Type[]): { plan: MessagePlan; type: DataType } {
    const plan = emptyPlan(of);
    const within = [...around, of];
    const struct: StructField[] = [];
    for (const field of fieldsOf(of)) {
      if (++columns > MOST_COLUMNS)
        throw new LabError("SCHEMA_INVALID", `${plan.name} has more than ${MOST_COLUMNS} fields in all`);
      struct.push(column(field.name, addColumn(plan, field, within)));
    }
    const known = knownMessage(plan.name)?.type;
    if (known) return { plan, type: known };
    return { plan, type: struct.length === 0 ? EMPTY_OBJECT : { type: "struct", fields: distinct(struct) } };
  }

  function addColumn(plan: MessagePlan, field: Field, within: readonly Type[]): DataType {
    const message = messageOf(field);
    const scalar = message ? undefined : scalarOf(field).type;
    if (scalar !== undefined) {
      add(plan, field, undefined, false);
      return shaped(field, scalar);
    }
    const isText = within.includes(message!) || knownMessage(nameOf(message!))?.isJson === true;
    const inner = isText ? undefined : columnPlan(message!, within);
    add(plan, field, () => inner?.plan ?? textPlan(message!), isText);
    return shaped(field, inner?.type ?? "string");
  }

  const { plan, type: whole } = columnPlan(type, []);
  const isStruct = typeof whole === "object" && whole.type === "struct";
  return { message: plan, columns: isStruct ? whole : null };
}

function emptyPlan(of: Type): MessagePlan {
  const name = nameOf(of);
  return { name, fields: [], byId: new Map(), print: knownMessage(name)?.print };
}

function add(
  plan: MessagePlan,
  field: Field,
  message: (() => MessagePlan) | undefined,
  isText: boolean,
): void {
  const fullName = `${plan.name}.${field.name}`;
  const planned: FieldPlan = {
    id: field.id,
    place: plan.fields.length,
    fullName,
    key: `${JSON.stringify(field.name)}:`,
    ...singleValue(field, message),
    shape: field.repeated ? "repeated" : "single",
    isText,
    isRequired: field.required,
    rivals: [],
  };
  if (field.repeated) planned.absent = "[]";
  if (isMap(field)) {
    const entry = entryPlan(field, fullName, message, isText);
    Object.assign(planned, { shape: "map", wire: DELIMITED, isPackable: false, read: undefined });
    Object.assign(planned, { message: () => entry, absent: "{}", isText: false });
  }
  plan.fields.push(planned);
  plan.byId.set(field.id, planned);
  if (!field.partOf) return;
  const names = new Set(field.partOf.fieldsArray.map(({ name }) => `${plan.name}.${name}`));
  const members = plan.fields.filter((each) => names.has(each.fullName));
  for (const member of members)
    member.rivals = members.filter((each) => each !== member).map(({ place }) => place);
}

type SingleValue = Pick<FieldPlan, "wire" | "isPackable" | "read" | "message" | "absent">;

function singleValue(field: Field, message: (() => MessagePlan) | undefined): SingleValue {
  if (message) {
    const wire = field.delimited ? GROUP : DELIMITED;
    return { wire, isPackable: false, read: undefined, message, absent: undefined };
  }
  const { wire, read, absent } = scalarOf(field);
  const isPackable = wire !== DELIMITED;
  return { wire, isPackable, read, message: undefined, absent: field.hasPresence ? undefined : absent };
}

/** An entry is a message of a key and a value, each its default where it does not come. */
function entryPlan(
  field: MapField,
  fullName: string,
  message: (() => MessagePlan) | undefined,
  isText: boolean,
): MessagePlan {
  const key = SCALARS[field.keyType]!;
  const value = message ? undefined : scalarOf(field);
  const common = { shape: "single", isRequired: false, rivals: [], isPackable: false } as const;
  const fields: FieldPlan[] = [
    {
      ...common,
      id: 1,
      place: 0,
      fullName: `${fullName} (key)`,
      key: "",
      wire: key.wire,
      read: key.read,
      message: undefined,
      isText: false,
      absent: key.absent,
    },
    {
      ...common,
      id: 2,
      place: 1,
      fullName,
      key: "",
      wire: value?.wire ?? DELIMITED,
      read: value?.read,
      message,
      isText,
      absent: value?.absent,
    },
  ];
  return {
    name: fullName,
    fields,
    byId: new Map(fields.map((each) => [each.id, each])),
    print: undefined,
  };
}

/** Extensions are left out: they are no fields of the message itself. */
function fieldsOf(type: Type): Field[] {
  return type.fieldsArray.map((field) => field.resolve() as Field).filter((field) => !field.declaringField);
}

function messageOf(field: Field): Type | undefined {
  return field.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined;
}

function scalarOf(field: Pick<Field, "resolvedType" | "type" | "typeDefault">) {
  if (!(field.resolvedType instanceof protobuf.Enum)) return SCALARS[field.type]!;
  const { valuesById, values } = field.resolvedType;
  const first = valuesById[Object.values(values)[0]!] ?? "0";
  return { wire: 0, type: "string", absent: JSON.stringify(first), read: enumRead(valuesById) } as const;
}

function shaped(field: Field, type: DataType): DataType {
  if (isMap(field)) return { type: "map", keyType: "string", valueType: type, valueContainsNull: true };
  return field.repeated ? { type: "array", elementType: type, containsNull: true } : type;
}

function isMap(field: Field): field is Field & MapField {
  return field.map;
}

function nameOf(type: Type): string {
  return type.fullName.slice(1);
}

function column(name: string, type: DataType): StructField {
  return { name, type, nullable: true, metadata: {} };
}

/** Columns do not differ by case alone; the first counts. */
function distinct(fields: readonly StructField[]): StructField[] {
  const taken = new Set<string>();
  return fields.filter(({ name }) => {
    const isNew = !taken.has(name.toLowerCase());
    taken.add(name.toLowerCase());
    return isNew;
  });
}
