/** CSV by RFC 4180, one record a message. */

import { isUtf8 } from "node:buffer";
import { LabError } from "../core/errors.ts";
import { decimalOf } from "../delta/schema.ts";
import type { DataType, StructType } from "../delta/types.ts";
import { brief } from "./brief.ts";
import { splitCsv } from "./csv-split.ts";
import type { Decoded, Decoder } from "./decoder.ts";

export type CsvOptions = {
  /** Between fields: one character, a comma unless told. */
  delimiter?: string;
  /** Each message begins with a line of column names; otherwise fields are `columns` by their place. */
  header?: boolean;
  /** Of the table or a schema file, without `_kafka` and what is derived: what texts are to become. Columns it lacks stay texts. */
  columns: StructType | null;
};

type ToJson = (text: string) => string;

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const NUMBERS = new Set<DataType>(["byte", "short", "integer", "long", "float", "double"]);
const BYTE_ORDER_MARK = "\ufeff";

/** CONFIG_INVALID for a delimiter that is none, and where nothing names the columns. */
export function createCsvDecoder(options: CsvOptions): Decoder {
  const { delimiter = ",", header = false, columns } = options;
  if (delimiter.length !== 1 || /["\r\n]/.test(delimiter))
    throw new LabError("CONFIG_INVALID", `${JSON.stringify(delimiter)} cannot stand between fields of CSV`, {
      hint: "use one character, such as , ; | or a tab",
    });
  if (!header && !columns)
    throw new LabError("CONFIG_INVALID", "nothing names the columns of the CSV messages", {
      hint: "give a schema file or a table that exists, or say that messages begin with a header line",
    });
  const places = columns?.fields.map(({ name }) => name) ?? [];
  const types = new Map(columns?.fields.map(({ name, type }) => [name, toJsonOf(type)]));

  function decode(value: Uint8Array | null): Decoded {
    if (value === null) return bad("NULL_VALUE", "the value is null (a tombstone), not CSV");
    if (value.length === 0) return bad("EMPTY_VALUE", "the value is empty, not CSV");
    if (!isUtf8(value)) return bad("INVALID_UTF8", "the value is not UTF-8 text");
    const text = Buffer.from(value.buffer, value.byteOffset, value.length).toString("utf8");
    const records = splitCsv(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text, delimiter);
    if (typeof records === "string") return bad("MALFORMED_CSV", records);
    const names = header ? records.shift()?.map(({ text }) => text) : places;
    const [record, second] = records;
    if (!names || !record) return bad("EMPTY_VALUE", "the value has no record");
    if (second) return bad("SEVERAL_RECORDS", `the value has ${records.length} records, not one`);
    const doubled = firstDouble(names);
    if (doubled !== undefined)
      return bad("DUPLICATE_COLUMN", `the header names ${JSON.stringify(doubled)} twice`);
    if (record.length !== names.length)
      return bad("WRONG_COLUMN_COUNT", `the record has ${record.length} fields for ${names.length} columns`);
    const members = record.map(({ text, isQuoted }, i) => {
      const name = names[i]!;
      const json = text === "" && !isQuoted ? "null" : (types.get(name) ?? JSON.stringify)(text);
      return `${JSON.stringify(name)}:${json}`;
    });
    return { objects: [Buffer.from(`{${members.join(",")}}`)] };
  }

  return { prepare: async () => {}, decode, schema: () => columns };
}

/**
 * How the text of a field is said in JSON for a column of `type`. What is not of the type stays a text: the encoder refuses it and tells
 * the column.
 */
function toJsonOf(type: DataType): ToJson {
  if (typeof type !== "string") return (text) => (isJsonObjectOrArray(text) ? text : JSON.stringify(text));
  if (NUMBERS.has(type) || decimalOf(type))
    return (text) => (JSON_NUMBER.test(text) ? text : JSON.stringify(text));
  if (type === "boolean")
    return (text) => (/^(?:true|false)$/i.test(text) ? text.toLowerCase() : JSON.stringify(text));
  return JSON.stringify;
}

function isJsonObjectOrArray(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function firstDouble(names: readonly string[]): string | undefined {
  const met = new Set<string>();
  return names.find((name) => met.size === met.add(name).size);
}

function bad(code: string, message: string): Decoded {
  return { bad: { stage: "decode", code, message: brief(message) } };
}
