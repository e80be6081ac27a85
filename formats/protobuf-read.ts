/**
 * A Protobuf message as JSON. Bytes are read by protobufjs, field by field along a plan, instead of by the code that it makes of a schema:
 * that one takes bytes that are no text, drops the numbers of enums it does not know, and is code made of what a registry says.
 */

import type { Reader } from "protobufjs";
import protobuf from "protobufjs";
import type { Undecodable } from "./decoder.ts";
import { Misread } from "./protobuf-misread.ts";
import type { FieldPlan, MessagePlan, Slot, Slots } from "./protobuf-plan.ts";

/** As in Google's readers. */
const MOST_DEPTH = 100;
const DELIMITED = 2;
const END_GROUP = 4;

/** The JSON of the message in `bytes`, or why they are none. Never throws for any bytes, and takes time in proportion to them. */
export function readMessage(bytes: Uint8Array, plan: MessagePlan): string | Undecodable {
  try {
    const slots: Slots = { fields: [] };
    readFields(new protobuf.Reader(bytes), bytes.length, plan, slots, 0);
    return print(plan, slots);
  } catch (error) {
    if (error instanceof Misread) return { stage: "decode", code: error.code, message: error.message };
    const message = `the bytes are no ${plan.name}: ${(error as Error).message}`;
    return { stage: "decode", code: "MALFORMED_PROTOBUF", message };
  }
}

/** Reads up to `end`, or to the end of the group `groupId`. What was read before of the same message stays, as far as it does not come anew. */
function readFields(
  reader: Reader,
  end: number,
  plan: MessagePlan,
  slots: Slots,
  depth: number,
  groupId?: number,
): void {
  if (depth > MOST_DEPTH) throw new Error(`messages are nested deeper than ${MOST_DEPTH}`);
  while (reader.pos < end) {
    const tag = reader.tag();
    const id = tag >>> 3;
    const wire = tag & 7;
    if (wire === END_GROUP && id === groupId) return;
    const field = plan.byId.get(id);
    if (field) readField(reader, wire, field, slots, depth);
    else reader.skipType(wire, depth, id);
  }
  if (groupId !== undefined) throw new Error("a group does not end");
}

function readField(reader: Reader, wire: number, field: FieldPlan, slots: Slots, depth: number): void {
  const { place, shape } = field;
  for (const rival of field.rivals) slots.fields[rival] = undefined;
  const before = slots.fields[place];
  if (shape === "single") {
    expectWire(wire, field);
    slots.fields[place] = readValue(reader, field, depth, before);
  } else if (shape === "repeated") {
    const values = (before ?? []) as Slot[];
    slots.fields[place] = values;
    if (wire === DELIMITED && field.isPackable) readPacked(reader, field, values);
    else {
      expectWire(wire, field);
      values.push(readValue(reader, field, depth, undefined));
    }
  } else {
    const entries = (before ?? new Map()) as Map<string, Slot>;
    slots.fields[place] = entries;
    expectWire(wire, field);
    readEntry(reader, field, depth, entries);
  }
}

/** Google's readers take a field of another wire type for an unknown one; here that would make a default of what was said. */
function expectWire(wire: number, field: FieldPlan): void {
  if (wire !== field.wire) throw new Error(`${field.fullName} comes as wire type ${wire}, not ${field.wire}`);
}

function readPacked(reader: Reader, field: FieldPlan, values: Slot[]): void {
  within(reader, (end) => {
    while (reader.pos < end) values.push(field.read!(reader, field.fullName));
  });
}

/** Of entries with the same key the last counts. */
function readEntry(reader: Reader, field: FieldPlan, depth: number, entries: Map<string, Slot>): void {
  const slots = readValue(reader, field, depth, undefined) as Slots;
  const [key, value] = field.message!().fields as [FieldPlan, FieldPlan];
  const keyJson = (slots.fields[key.place] ?? key.absent) as string;
  const name = keyJson.startsWith('"') ? keyJson : `"${keyJson}"`;
  entries.set(name, slots.fields[value.place] ?? value.absent ?? { fields: [] });
}

/** `before` is what a message that comes in pieces has so far. */
function readValue(reader: Reader, field: FieldPlan, depth: number, before: Slot | undefined): Slot {
  if (field.read) return field.read(reader, field.fullName);
  const plan = field.message!();
  const slots = (before as Slots | undefined) ?? { fields: [] };
  if (field.wire === DELIMITED) within(reader, (end) => readFields(reader, end, plan, slots, depth + 1));
  else readFields(reader, reader.len, plan, slots, depth + 1, field.id);
  return slots;
}

/** Runs `read` on what its length, which comes first, bounds; nothing in it can reach beyond. */
function within(reader: Reader, read: (end: number) => void): void {
  const size = reader.size();
  const end = reader.pos + size;
  const outer = reader.len;
  if (end > outer) throw new Error(`a length of ${size} reaches beyond the end`);
  reader.len = end;
  read(end);
  if (reader.pos !== end) throw new Error("a field reaches beyond the end of what holds it");
  reader.len = outer;
}

function print(plan: MessagePlan, slots: Slots): string {
  if (plan.print) return plan.print(slots, plan.name);
  let json = "";
  for (const field of plan.fields) {
    const slot = slots.fields[field.place];
    if (slot === undefined && field.isRequired)
      throw new Misread("MISSING_REQUIRED", `${field.fullName} is required and does not come`);
    const value = slot === undefined ? field.absent : printField(field, slot);
    if (value !== undefined) json += `${json === "" ? "" : ","}${field.key}${value}`;
  }
  return `{${json}}`;
}

function printField(field: FieldPlan, slot: Slot): string {
  if (field.shape === "single") return printValue(field, slot);
  if (field.shape === "repeated")
    return `[${(slot as Slot[]).map((each) => printValue(field, each)).join(",")}]`;
  const value = field.message!().fields[1]!;
  const members = [...(slot as Map<string, Slot>)].map(([key, each]) => `${key}:${printValue(value, each)}`);
  return `{${members.join(",")}}`;
}

function printValue(field: FieldPlan, slot: Slot): string {
  if (field.read) return slot as string;
  const json = print(field.message!(), slot as Slots);
  return field.isText ? JSON.stringify(json) : json;
}
