/** Messages that Google defines and that mean more than their fields: times, numbers that may be absent, JSON. */

import type { DataType } from "../delta/types.ts";
import { Misread } from "./protobuf-misread.ts";
import type { Slot, Slots } from "./protobuf-plan.ts";
import { SCALARS } from "./protobuf-scalars.ts";

export type KnownMessage = {
  type: DataType;
  /** It is JSON of any form, which a column can hold as a text only. */
  isJson?: true;
  /** Its JSON. Fields are those of Google's file, in its order. */
  print(slots: Slots, name: string): string;
};

const NANOS_DIGITS = 9;
const MOST_NANOS = 999_999_999;
/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
const [FIRST_SECOND, LAST_SECOND] = [-62_135_596_800, 253_402_300_799];
/** Ten thousand years, as Google's file bounds it. */
const LONGEST_SECONDS = 315_576_000_000;

const KNOWN: Readonly<Record<string, KnownMessage>> = {
  Timestamp: { type: "timestamp", print: printTimestamp },
  Duration: { type: "decimal(21,9)", print: printDuration },
  DoubleValue: wrapper("double"),
  FloatValue: wrapper("float"),
  Int64Value: wrapper("int64"),
  UInt64Value: wrapper("uint64"),
  Int32Value: wrapper("int32"),
  UInt32Value: wrapper("uint32"),
  BoolValue: wrapper("bool"),
  StringValue: wrapper("string"),
  BytesValue: wrapper("bytes"),
  Struct: { type: "string", isJson: true, print: ({ fields: [members] }) => printStruct(members) },
  Value: { type: "string", isJson: true, print: printValue },
  ListValue: { type: "string", isJson: true, print: ({ fields: [elements] }) => printList(elements) },
};

/** By full name; undefined for a message that is its fields and no more. */
export function knownMessage(name: string): KnownMessage | undefined {
  const [, short] = /^google\.protobuf\.(\w+)$/.exec(name) ?? [];
  return short !== undefined && Object.hasOwn(KNOWN, short) ? KNOWN[short] : undefined;
}

function wrapper(scalar: string): KnownMessage {
  const { type, absent } = SCALARS[scalar]!;
  return { type, print: ({ fields: [value] }) => (value as string | undefined) ?? absent };
}

/** All decimals but zeros at the end: whether a column holds them is for the encoder to say. */
function printTimestamp({ fields }: Slots, name: string): string {
  const [seconds, nanos] = secondsAndNanos(fields);
  const isInRange = seconds >= FIRST_SECOND && seconds <= LAST_SECOND && nanos >= 0 && nanos <= MOST_NANOS;
  if (!isInRange)
    throw new Misread(
      "BAD_TIME",
      `${name} of ${seconds} s and ${nanos} ns is outside of the years 1 to 9999`,
    );
  const whole = new Date(seconds * 1000).toISOString().slice(0, -".000Z".length);
  return `"${whole}${decimals(nanos)}Z"`;
}

/** Seconds as a number. */
function printDuration({ fields }: Slots, name: string): string {
  const [seconds, nanos] = secondsAndNanos(fields);
  const isOneSign = !((seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0));
  if (!isOneSign || Math.abs(seconds) > LONGEST_SECONDS || Math.abs(nanos) > MOST_NANOS)
    throw new Misread("BAD_TIME", `${name} of ${seconds} s and ${nanos} ns is no duration`);
  const sign = seconds < 0 || nanos < 0 ? "-" : "";
  return `${sign}${Math.abs(seconds)}${decimals(Math.abs(nanos))}`;
}

/** Beyond 2^53 seconds are not exact, and far out of range. */
function secondsAndNanos([seconds, nanos]: Slots["fields"]): [number, number] {
  return [Number(seconds ?? 0), Number(nanos ?? 0)];
}

function decimals(nanos: number): string {
  return nanos === 0 ? "" : `.${String(nanos).padStart(NANOS_DIGITS, "0").replace(/0+$/, "")}`;
}

function printStruct(members: Slot | undefined): string {
  const entries = [...((members as Map<string, Slot> | undefined) ?? [])];
  return `{${entries.map(([key, value]) => `${key}:${printValue(value as Slots)}`).join(",")}}`;
}

function printList(elements: Slot | undefined): string {
  return `[${((elements as Slot[] | undefined) ?? []).map((value) => printValue(value as Slots)).join(",")}]`;
}

function printValue({ fields }: Slots): string {
  const [isNull, number, text, truth, struct, list] = fields;
  if (isNull !== undefined) return "null";
  if (number !== undefined) return (number as string).replace(/\.0$/, "");
  const scalar = text ?? truth;
  if (scalar !== undefined) return scalar as string;
  if (struct !== undefined) return printStruct((struct as Slots).fields[0]);
  if (list !== undefined) return printList((list as Slots).fields[0]);
  throw new Misread("MALFORMED_PROTOBUF", "a google.protobuf.Value has no value");
}
