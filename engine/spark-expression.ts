/** Spark SQL expressions over the columns of a table as DuckDB's SQL: the same outcome for every row, or a refusal. */

import type { DataType, StructType } from "../delta/types.ts";
import { quoteName, quoteText } from "./instance.ts";
import { chosen, compared, quantified, translateCall } from "./spark-functions.ts";
import { Untranslatable } from "./spark-lexer.ts";
import { type Expression, parseSpark } from "./spark-parser.ts";
import { commonType, converted, isDay, isIntegral, isNumeric, type Typed, typeName } from "./spark-types.ts";

export type Translated = {
  sql: string;
  type: DataType;
  /** The columns and struct fields that it looks at, by their names joined with dots, as SQL. */
  operands: ReadonlyMap<string, string>;
};

export type Columns = {
  schema: StructType;
  /** Texts of these have no empty one: it is stored as null. */
  partitionColumns: readonly string[];
};

type Scope = {
  columns: Columns;
  /** What lambdas call their items, in lower case. */
  items: ReadonlyMap<string, Typed>;
  /** Of lambdas around. */
  depth: number;
  operands: Map<string, string>;
};

/** Untranslatable with the part at fault. Functions of chance, time and many rows are none that are known here. */
export function translateSpark(sql: string, columns: Columns): Translated {
  const operands = new Map<string, string>();
  const { sql: translated, type } = translate(parseSpark(sql), {
    columns,
    items: new Map(),
    depth: 0,
    operands,
  });
  return { sql: translated, type, operands };
}

/** Characters of SQL: some operands are said twice, and what they are made of again and again. */
const MOST_SQL = 100_000;

function translate(expression: Expression, scope: Scope): Typed {
  const translated = translateNode(expression, scope);
  if (translated.sql.length > MOST_SQL) throw new Untranslatable("its size");
  return translated;
}

function translateNode(expression: Expression, scope: Scope): Typed {
  switch (expression.kind) {
    case "constant":
      return constant(expression);
    case "name":
    case "field":
      return reference(expression, scope);
    case "index":
      return element(translate(expression.of, scope), translate(expression.index, scope));
    case "cast":
      return cast(translate(expression.of, scope), expression.type);
    case "case":
      return cases(expression, scope);
    case "call":
      return call(expression, scope);
    case "lambda":
      throw new Untranslatable("-> outside of forall() and exists()");
  }
}

function constant({ type, text }: Extract<Expression, { kind: "constant" }>): Typed {
  if (type === "string") return { sql: quoteText(text), type, constant: text };
  if (isNumeric(type)) return withSql({ sql: "", type, constant: text });
  if (type === "void" || type === "boolean") return { sql: text, type };
  if (type === "date" && isDay(text)) return { sql: `DATE ${quoteText(text)}`, type };
  const time = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d{1,6})?)(Z|[+-]\d\d:\d\d)?$/.exec(text);
  if (time && isDay(time[1]) && isTime(time[2]!)) {
    // A time without a zone is one of the session's, which is another each time.
    if (type === "timestamp" && time[3] !== undefined) return { sql: `TIMESTAMPTZ ${quoteText(text)}`, type };
    if (type === "timestamp_ntz" && time[3] === undefined)
      return { sql: `TIMESTAMP ${quoteText(text)}`, type };
  }
  throw new Untranslatable(`the ${typeName(type)} '${text}'${time && !time[3] ? " without a zone" : ""}`);
}

function isTime(text: string): boolean {
  const [hours, minutes, seconds] = text.split(":").map(Number) as [number, number, number];
  return hours < 24 && minutes < 60 && seconds < 60;
}

/** A constant as SQL of its own type. */
function withSql(value: Typed): Typed {
  return { ...value, sql: converted(value, value.type) };
}

/** A column, an item of a lambda, or a field inside of one of them. */
function reference(expression: Extract<Expression, { kind: "name" | "field" }>, scope: Scope): Typed {
  const path = pathOf(expression);
  if (path === undefined) {
    const { of, name } = expression as Extract<Expression, { kind: "field" }>;
    return fieldOf(translate(of, scope), name);
  }
  const [first, ...rest] = path as [string, ...string[]];
  const item = scope.items.get(first.toLowerCase());
  const value = rest.reduce(fieldOf, item ?? columnOf(scope.columns, first));
  if (!item) scope.operands.set(path.join("."), value.sql);
  return value;
}

function pathOf(expression: Expression): string[] | undefined {
  if (expression.kind === "name") return [expression.name];
  if (expression.kind !== "field") return undefined;
  const outer = pathOf(expression.of);
  return outer && [...outer, expression.name];
}

function columnOf({ schema, partitionColumns }: Columns, name: string): Typed {
  const field = named(schema, name);
  if (!field) throw new Untranslatable(`the name ${name}: no column is called that`);
  const sql = quoteName(field.name);
  const isText = field.type === "string" && partitionColumns.includes(field.name);
  if (field.type === "void") return { sql: "NULL", type: "void" };
  return { sql: isText ? `nullif(${sql}, '')` : sql, type: field.type };
}

function fieldOf(value: Typed, name: string): Typed {
  const { type } = value;
  const field = typeof type !== "string" && type.type === "struct" ? named(type, name) : undefined;
  if (!field) throw new Untranslatable(`the field ${name} of a value of type ${typeName(type)}`);
  return { sql: `${value.sql}.${quoteName(field.name)}`, type: field.type };
}

function named(struct: StructType, name: string) {
  return (
    struct.fields.find((field) => field.name === name) ??
    struct.fields.find((field) => field.name.toLowerCase() === name.toLowerCase())
  );
}

/** An item of an array by a constant place, from 0 on, or a value of a map by its key. */
function element(value: Typed, index: Typed): Typed {
  const { type } = value;
  const place = Number(index.constant ?? Number.NaN);
  if (typeof type !== "string" && type.type === "array" && isIntegral(index.type) && place >= 0)
    return { sql: `list_extract(${value.sql}, ${place + 1})`, type: type.elementType };
  if (typeof type !== "string" && type.type === "map" && type.keyType === "string" && index.type === "string")
    return { sql: `${value.sql}[${index.sql}]`, type: type.valueType };
  throw new Untranslatable(
    `[...] of a value of type ${typeName(type)} by one of type ${typeName(index.type)}`,
  );
}

/** To wider numbers, and of text that is a date: what no setting changes. */
function cast(value: Typed, type: DataType): Typed {
  if (value.type === type) return value;
  if (type === "date" && value.type === "string" && isDay(value.constant))
    return { sql: `DATE ${quoteText(value.constant)}`, type };
  const isWidening =
    value.type === "void" ||
    (isIntegral(value.type) &&
      (type === "double" ||
        (isIntegral(type) && commonType([value, { sql: "", type }], "value") === type))) ||
    (value.type === "float" && type === "double");
  if (isWidening) return { sql: converted(value, type), type };
  if (isIntegral(value.type) && type === "string") return { sql: `CAST(${value.sql} AS VARCHAR)`, type };
  throw new Untranslatable(`a cast of ${typeName(value.type)} to ${typeName(type)}`);
}

function cases({ branches, otherwise }: Extract<Expression, { kind: "case" }>, scope: Scope): Typed {
  const whens = branches.map(([when]) => translate(when, scope));
  const { type, sql } = chosen(
    [...branches.map(([, then]) => then), otherwise].map((one) => translate(one, scope)),
  );
  const wrong = whens.find((when) => when.type !== "boolean" && when.type !== "void");
  if (wrong) throw new Untranslatable(`WHEN with a value of type ${typeName(wrong.type)}`);
  const arms = whens.map((when, i) => `WHEN ${when.sql} THEN ${sql[i]}`);
  return { sql: `(CASE ${arms.join(" ")} ELSE ${sql.at(-1)} END)`, type };
}

function call({ name, args }: Extract<Expression, { kind: "call" }>, scope: Scope): Typed {
  const [array, second] = args;
  if ((name === "forall" || name === "exists") && args.length === 2 && second!.kind === "lambda") {
    const { parameter, body } = second as Extract<Expression, { kind: "lambda" }>;
    return overItems(name, translate(array!, scope), scope, (item, inner) =>
      translate(body, { ...inner, items: new Map([...inner.items, [parameter.toLowerCase(), item]]) }),
    );
  }
  if (name === "array_contains" && args.length === 2) {
    const value = translate(second!, scope);
    const found = overItems("exists", translate(array!, scope), scope, (item) => compared("=", item, value));
    return { ...found, sql: `(CASE WHEN ${value.sql} IS NOT NULL THEN ${found.sql} END)` };
  }
  return translateCall(
    name,
    args.map((arg) => translate(arg, scope)),
  );
}

function overItems(
  name: "forall" | "exists",
  array: Typed,
  scope: Scope,
  conditionOn: (item: Typed, scope: Scope) => Typed,
): Typed {
  const { type } = array;
  if (typeof type === "string" || type.type !== "array")
    throw new Untranslatable(`${name}() of a value of type ${typeName(type)}`);
  // A name with a space: no column has one.
  const item = quoteName(`lab item ${scope.depth}`);
  const condition = conditionOn({ sql: item, type: type.elementType }, { ...scope, depth: scope.depth + 1 });
  if (condition.type !== "boolean")
    throw new Untranslatable(`${name}() by a value of type ${typeName(condition.type)}`);
  return quantified(name, array.sql, item, condition.sql);
}
