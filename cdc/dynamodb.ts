/**
 * Records of DynamoDB streams, with the types of their values beside them. Numbers keep their digits, of which there may be 38. Sequence numbers have
 * up to 40 digits and order the changes of one item, which is all that is asked of them here.
 */

import { type Fault, parseMessage } from "../engine/json-exact.ts";
import { JsonNumber, type JsonObject, type JsonValue } from "../engine/json-parse.ts";
import type { ChangeDecoder, ChangeMessage, DecodedChange } from "./decoder.ts";
import { emptyObject, isJsonObject, textOf } from "./json-text.ts";
import type { Position } from "./position.ts";
import { rowChanges } from "./row-change.ts";

const EVENTS: Readonly<Record<string, "upsert" | "delete">> = {
  INSERT: "upsert",
  MODIFY: "upsert",
  REMOVE: "delete",
};
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** `told`: the columns of the key; null: those of the first record's keys. */
export function createDynamoDbDecoder(told: readonly string[] | null): ChangeDecoder {
  let keyColumns = told;

  function decode(message: ChangeMessage): DecodedChange {
    const parsed = parseMessage(message.value);
    if (parsed.kind === "fault") return { bad: parsed.fault };
    const { eventName, dynamodb } = parsed.object;
    const event = textOf(eventName) ?? "";
    const kind = Object.hasOwn(EVENTS, event) ? EVENTS[event]! : null;
    if (kind === null || !isJsonObject(dynamodb))
      return fault("NOT_A_CHANGE", "there is no event of DynamoDB in it");
    const { Keys, NewImage } = dynamodb;
    if (!isJsonObject(Keys)) return fault("CDC_KEY_MISSING", "dynamodb.Keys is no object");
    if (kind === "upsert" && !isJsonObject(NewImage))
      return fault(
        "CDC_ROW_MISSING",
        `the stream's view is ${textOf(dynamodb.StreamViewType) ?? "unknown"}, which holds no new image`,
      );
    keyColumns ??= Object.keys(Keys);
    try {
      const key = plain(Keys);
      const row = kind === "delete" ? key : Object.assign(plain(NewImage as JsonObject), key);
      return rowChanges(message, { kind, row, keyColumns, before: null, position: positionOf(dynamodb) });
    } catch (error) {
      if (!(error instanceof Untyped)) throw error;
      return fault("WRONG_TYPE", error.message);
    }
  }

  return {
    decode,
    get keyColumns() {
      return keyColumns;
    },
    promised: null,
  };
}

function fault(code: string, message: string): { bad: Fault } {
  return { bad: { stage: "schema", code, message } };
}

class Untyped extends Error {}

function plain(attributes: JsonObject, path = ""): JsonObject {
  const row = emptyObject();
  for (const name of Object.keys(attributes)) row[name] = attributeOf(attributes[name]!, `${path}${name}`);
  return row;
}

function attributeOf(typed: JsonValue, path: string): JsonValue {
  const [type, ...more] = isJsonObject(typed) ? Object.keys(typed) : [];
  if (!isJsonObject(typed) || type === undefined || more.length > 0)
    throw new Untyped(`${path}: is no value with its type`);
  const value = typed[type]!;
  const list = Array.isArray(value) ? value : null;
  if (type === "NULL") return null;
  if ((type === "S" || type === "B") && typeof value === "string") return value;
  if (type === "BOOL" && typeof value === "boolean") return value;
  if (type === "N") return number(value, path);
  if (type === "M" && isJsonObject(value)) return plain(value, `${path}.`);
  if (type === "L" && list) return list.map((one, i) => attributeOf(one, `${path}[${i}]`));
  if ((type === "SS" || type === "BS") && list?.every((one) => typeof one === "string")) return list;
  if (type === "NS" && list) return list.map((one, i) => number(one, `${path}[${i}]`));
  throw new Untyped(`${path}: is no value of type ${type}`);
}

function number(value: JsonValue, path: string): JsonNumber {
  if (typeof value === "string" && NUMBER.test(value)) return new JsonNumber(value);
  throw new Untyped(`${path}: is no number in a text`);
}

/** Three parts of 18 digits, each of which a long holds. */
function positionOf(dynamodb: JsonObject): Position | null {
  const digits = textOf(dynamodb.SequenceNumber);
  if (digits === null || !/^\d{1,54}$/.test(digits)) return null;
  const padded = digits.padStart(54, "0");
  const [hi, lo, sub] = [0, 18, 36].map((start) => BigInt(padded.slice(start, start + 18))) as [
    bigint,
    bigint,
    bigint,
  ];
  const seconds = dynamodb.ApproximateCreationDateTime;
  const ms = seconds instanceof JsonNumber ? Number(seconds.text) * 1000 : Number.NaN;
  const timeMicros = Number.isFinite(ms) ? BigInt(Math.round(ms)) * 1000n : null;
  return { source: "dynamodb", hi, lo, sub, timeMicros, isSnapshot: false };
}
