/**
 * Operators and functions of Spark SQL that DuckDB has, too, each with what has to be done for the same outcome. What fails in one of
 * Spark's modes (overflow, division by zero, a place outside of an array) is null, as in the other one.
 */

import type { DataType } from "../delta/types.ts";
import { quoteText } from "./instance.ts";
import { arithmetic, tried, wholeArithmetic } from "./spark-arithmetic.ts";
import { Untranslatable } from "./spark-lexer.ts";
import { checkLikePattern, regexPattern } from "./spark-pattern.ts";
import { commonType, converted, isIntegral, isNumeric, type Typed, typeName } from "./spark-types.ts";
import { sqlType } from "./sql-types.ts";

type Translate = (name: string, args: readonly Typed[]) => Typed;
type Rule = { least: number; most: number; translate: Translate };

/** Of the items of an array: whether a condition holds for each, or for one. The condition is SQL over `item`. */
export function quantified(name: "forall" | "exists", items: string, item: string, condition: string): Typed {
  // 0 false, 1 null, 2 true: the least decides for all, the greatest for one of them.
  const verdicts = `list_transform(${items}, lambda ${item}: coalesce(CAST(${condition} AS INTEGER) * 2, 1))`;
  const [decide, ofNone] = name === "forall" ? ["list_min", 2] : ["list_max", 0];
  const none = `CASE WHEN ${items} IS NULL THEN 1 ELSE ${ofNone} END`;
  return {
    sql: `(CASE coalesce(${decide}(${verdicts}), ${none}) WHEN 0 THEN false WHEN 2 THEN true END)`,
    type: "boolean",
  };
}

/** Compares two values by DuckDB's operator. */
export function compared(sign: string, a: Typed, b: Typed): Typed {
  const type = commonType([a, b], "compare");
  if (typeof type !== "string") throw new Untranslatable(`a comparison of values of type ${typeName(type)}`);
  return { sql: `(${converted(a, type)} ${sign} ${converted(b, type)})`, type: "boolean" };
}

/** Untranslatable where the function is not known here, or not for these types. */
export function translateCall(name: string, args: readonly Typed[]): Typed {
  const rule = RULES.get(name);
  if (!rule) throw new Untranslatable(`${name}${/^\w+$/.test(name) ? "()" : ""}`);
  if (args.length < rule.least || args.length > rule.most)
    throw new Untranslatable(`${name}() of ${args.length} arguments`);
  return rule.translate(name, args);
}

const RULES = new Map<string, Rule>();

function define(names: string, [least, most]: readonly [number, number], translate: Translate): void {
  for (const name of names.split(" ")) RULES.set(name, { least, most, translate });
}

function requireType(name: string, value: Typed, ...types: readonly DataType[]): string {
  if (value.type === "void") return `CAST(NULL AS ${sqlType(types[0]!)})`;
  if (types.includes(value.type)) return value.sql;
  throw new Untranslatable(`${name} of a value of type ${typeName(value.type)}`);
}

const text = (name: string, value: Typed) => requireType(name, value, "string");
const logical = (name: string, value: Typed) => requireType(name, value, "boolean");

function constantText(name: string, value: Typed): string {
  if (value.type !== "string" || value.constant === undefined)
    throw new Untranslatable(`${name} with a pattern that is no constant`);
  return value.constant;
}

/** A whole number that stands there as such, from `least` on. */
function constantCount(name: string, value: Typed, least: number): number {
  const count = Number(value.constant ?? Number.NaN);
  if (!isIntegral(value.type) || !Number.isSafeInteger(count) || count < least)
    throw new Untranslatable(`${name} with other than a whole number from ${least} on`);
  return count;
}

/** Letters whose other case is one letter in one engine and several in the other, or depends on what follows. */
const UNEVEN_LETTERS = String.raw`[ßŉƛǰɤΐΰևİΣ\x{1c80}-\x{1c8f}\x{1e90}-\x{1fff}\x{a7c0}-\x{a7df}\x{fb00}-\x{fb1f}\x{10d50}-\x{10d8f}]`;

/** The first of the values that is right in the common type of all. */
export function chosen(values: readonly Typed[]): { type: DataType; sql: readonly string[] } {
  const type = commonType(values, "value");
  return {
    type,
    sql: type === "void" ? values.map(() => "NULL") : values.map((value) => converted(value, type)),
  };
}

define("and or", [2, 2], (name, args) => ({
  sql: `(${args.map((value) => logical(name, value)).join(` ${name.toUpperCase()} `)})`,
  type: "boolean",
}));
define("not", [1, 1], (name, [a]) => ({ sql: `(NOT ${logical(name, a!)})`, type: "boolean" }));
define("= < <= > >=", [2, 2], (name, [a, b]) => compared(name, a!, b!));
define("<=>", [2, 2], (_, [a, b]) => compared("IS NOT DISTINCT FROM", a!, b!));
define("isnull", [1, 1], (_, [a]) => ({ sql: `(${a!.sql} IS NULL)`, type: "boolean" }));
define("isnotnull", [1, 1], (_, [a]) => ({ sql: `(${a!.sql} IS NOT NULL)`, type: "boolean" }));
define("isnan", [1, 1], (name, [a]) => ({
  sql: `coalesce(isnan(${requireType(name, a!, "double", "float")}), false)`,
  type: "boolean",
}));
define("in", [2, 1000], (_, args) => {
  const type = commonType(args, "compare");
  if (typeof type !== "string") throw new Untranslatable(`IN of values of type ${typeName(type)}`);
  const [value, ...list] = args.map((one) => converted(one, type));
  return { sql: `(${value} IN (${list.join(", ")}))`, type: "boolean" };
});
define("like", [2, 3], (name, [a, pattern, escaped]) => {
  const sign = escaped ? constantText(name, escaped) : "\\";
  const found = constantText(name, pattern!);
  checkLikePattern(found, sign);
  return { sql: `(${text(name, a!)} LIKE ${quoteText(found)} ESCAPE ${quoteText(sign)})`, type: "boolean" };
});
define("rlike regexp_like", [2, 2], (name, [a, pattern]) => ({
  sql: `regexp_matches(${text(name, a!)}, ${quoteText(regexPattern(constantText(name, pattern!)))})`,
  type: "boolean",
}));

define("+ - * / %", [2, 2], (name, [a, b]) => arithmetic(name, a!, b!));
define("mod", [2, 2], (_, [a, b]) => arithmetic("%", a!, b!));
define("div", [2, 2], (_, [a, b]) => {
  if (isIntegral(a!.type) && isIntegral(b!.type)) return wholeArithmetic("//", a!, b!);
  throw new Untranslatable("DIV of other than whole numbers");
});
define("negative abs", [1, 1], (name, [a]) => {
  if (!isNumeric(a!.type)) throw new Untranslatable(`${name} of a value of type ${typeName(a!.type)}`);
  const value = converted(a!, a!.type);
  const sql = name === "abs" ? `abs(${value})` : `-${value}`;
  return { sql: tried(`CAST(${sql} AS ${sqlType(a!.type)})`), type: a!.type };
});

define("coalesce", [1, 1000], (_, args) => {
  const { type, sql } = chosen(args);
  return { sql: `coalesce(${sql.join(", ")})`, type };
});
define("ifnull nvl", [2, 2], (_, args) => translateCall("coalesce", args));
define("nullif", [2, 2], (_, [a, b]) => ({
  sql: `(CASE WHEN ${compared("=", a!, b!).sql} THEN NULL ELSE ${a!.sql} END)`,
  type: a!.type,
}));
define("if", [3, 3], (name, [condition, a, b]) => {
  const { type, sql } = chosen([a!, b!]);
  return { sql: `(CASE WHEN ${logical(name, condition!)} THEN ${sql[0]} ELSE ${sql[1]} END)`, type };
});

define("length char_length character_length", [1, 1], (name, [a]) => ({
  sql: `CAST(length(${text(name, a!)}) AS INTEGER)`,
  type: "integer",
}));
define("octet_length", [1, 1], (name, [a]) => ({
  sql: `CAST(strlen(${text(name, a!)}) AS INTEGER)`,
  type: "integer",
}));
define("upper ucase lower lcase", [1, 1], (name, [a]) => {
  const value = text(name, a!);
  const change = name.startsWith("u") ? "upper" : "lower";
  const isUneven = `regexp_matches(${value}, ${quoteText(UNEVEN_LETTERS)})`;
  return { sql: `(CASE WHEN ${isUneven} THEN NULL ELSE ${change}(${value}) END)`, type: "string" };
});
define("trim ltrim rtrim", [1, 1], (name, [a]) => ({
  sql: `${name}(${text(name, a!)}, ' ')`,
  type: "string",
}));
define("substring substr", [2, 3], (name, [a, start, count]) => {
  const places = [constantCount(name, start!, 1), ...(count ? [constantCount(name, count, 0)] : [])];
  return { sql: `substring(${[text(name, a!), ...places].join(", ")})`, type: "string" };
});
define("|| concat", [1, 1000], (name, args) => ({
  sql: `(${args.map((value) => text(name, value)).join(" || ")})`,
  type: "string",
}));
const SEARCHES: Readonly<Record<string, string>> = {
  startswith: "starts_with",
  endswith: "ends_with",
  contains: "contains",
};
define("startswith endswith contains", [2, 2], (name, args) => ({
  sql: `${SEARCHES[name]}(${args.map((value) => text(name, value)).join(", ")})`,
  type: "boolean",
}));

define("year month day dayofmonth", [1, 1], (name, [a]) => {
  const part = name === "dayofmonth" ? "day" : name;
  return {
    sql: `CAST(${part}(${requireType(name, a!, "date", "timestamp_ntz")}) AS INTEGER)`,
    type: "integer",
  };
});

define("size cardinality array_size", [1, 1], (name, [a]) => {
  const type = a!.type;
  const isThere =
    typeof type !== "string" && (type.type === "array" || (type.type === "map" && name !== "array_size"));
  if (!isThere) throw new Untranslatable(`${name}() of a value of type ${typeName(type)}`);
  const count = type.type === "array" ? "len" : "cardinality";
  return { sql: `CAST(${count}(${a!.sql}) AS INTEGER)`, type: "integer" };
});
define("map_keys map_values", [1, 1], (name, [a]) => {
  const type = a!.type;
  if (typeof type === "string" || type.type !== "map")
    throw new Untranslatable(`${name}() of a value of type ${typeName(type)}`);
  const elementType = name === "map_keys" ? type.keyType : type.valueType;
  return { sql: `${name}(${a!.sql})`, type: { type: "array", elementType, containsNull: true } };
});
