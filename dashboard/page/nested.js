/** Values of nested types as text: numbers as numbers, also those that travel as text so that none is rounded. Pure. */

/**
 * A type as far as its values are written differently.
 * @typedef {"number" | "plain" | { list: Shape } | { fields: Map<string, Shape> } | { key: Shape, value: Shape }} Shape
 */

const NUMBER =
  /^(byte|short|int|integer|uinteger|u?(tiny|small|big|huge)int|long|float|double|real|decimal|numeric)\b/i;

/** @type {Map<string, Shape>} */
const known = new Map();

/** JSON of a value of a type, as DuckDB or Delta write its name. @param {unknown} value @param {string} type @param {string} [indent] */
export function nestedText(value, type, indent = "") {
  const shape = known.get(type) ?? parse(type);
  known.set(type, shape);
  return text(value, shape, indent, "");
}

/** What cannot be read of a type is plain: its values are written as they came. @param {string} type @returns {Shape} */
function parse(type) {
  const whole = type.trim();
  const list = /^(.*)\[\d*\]$/s.exec(whole);
  if (list) return { list: parse(list[1] ?? "") };
  const nested = /^(struct|map|array)\s*[(<](.*)[)>]$/is.exec(whole);
  if (!nested) return NUMBER.test(whole) ? "number" : "plain";
  const [, kind = "", inside = ""] = nested;
  const parts = split(inside);
  if (/struct/i.test(kind)) return { fields: new Map(parts.map(field)) };
  if (/array/i.test(kind)) return { list: parse(inside) };
  return { key: parse(parts[0] ?? ""), value: parse(parts[1] ?? "") };
}

/** `name TYPE`, `"a name" TYPE` or `name: type`. @param {string} part @returns {[string, Shape]} */
function field(part) {
  const found = /^\s*("(?:[^"]|"")*"|[^\s:]+):?\s*(.*)$/s.exec(part);
  const name = (found?.[1] ?? "").replace(/^"(.*)"$/s, "$1").replaceAll('""', '"');
  return [name, parse(found?.[2] ?? "")];
}

/** At commas outside of brackets and quotes. @param {string} inside */
function split(inside) {
  const parts = [""];
  let depth = 0;
  let isQuoted = false;
  for (const c of inside) {
    if (c === '"') isQuoted = !isQuoted;
    if (!isQuoted && "(<[".includes(c)) depth++;
    if (!isQuoted && ")>]".includes(c)) depth--;
    if (c === "," && depth === 0 && !isQuoted) parts.push("");
    else parts[parts.length - 1] += c;
  }
  return parts;
}

/** @param {unknown} value @param {Shape} shape @param {string} indent @param {string} before @returns {string} */
function text(value, shape, indent, before) {
  if (shape === "number" && typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value)) return value;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = before + indent;
  const [gap, end] = indent === "" ? ["", ""] : [`\n${inner}`, `\n${before}`];
  const join = (/** @type {readonly string[]} */ parts) => parts.map((part) => gap + part).join(",") + end;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[${join(value.map((one, n) => text(one, itemOf(shape, n), indent, inner)))}]`;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) return "{}";
  const colon = indent === "" ? ":" : ": ";
  const pairs = entries.map(
    ([name, one]) => JSON.stringify(name) + colon + text(one, memberOf(shape, name), indent, inner),
  );
  return `{${join(pairs)}}`;
}

/** Of a list, or of a map that came as pairs, or of such a pair. @param {Shape} shape @param {number} n @returns {Shape} */
function itemOf(shape, n) {
  if (typeof shape !== "object") return "plain";
  if ("list" in shape) return shape.list;
  if ("key" in shape)
    return {
      fields: new Map([
        ["0", shape.key],
        ["1", shape.value],
      ]),
    };
  return shape.fields.get(String(n)) ?? "plain";
}

/** @param {Shape} shape @param {string} name @returns {Shape} */
function memberOf(shape, name) {
  if (typeof shape !== "object") return "plain";
  if ("fields" in shape) return shape.fields.get(name) ?? "plain";
  return "value" in shape ? shape.value : "plain";
}
