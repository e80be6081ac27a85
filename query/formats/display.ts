/** Values as people read them in a terminal, and how much room text takes there. */

import type { Value, ValueType } from "../../engine/result.ts";
import { decimalText } from "../cells.ts";
import { dateText, timestampText } from "../dates.ts";

/** Plain text of a type's values; nested ones in one line. Not escaped: see `visible`. */
export function displayText(type: ValueType): (value: Value) => string {
  const some = ofType(type);
  return (value) => (value === null ? "NULL" : some(value));
}

export function isNumeric(type: ValueType): boolean {
  return type.kind === "int" || type.kind === "float" || type.kind === "decimal";
}

function ofType(type: ValueType): (value: NonNullable<Value>) => string {
  switch (type.kind) {
    case "decimal":
      return (value) => decimalText(value as bigint, type.scale);
    case "binary":
      return (value) => bytesText(value as Uint8Array);
    case "date":
      return (value) => dateText(value as number);
    case "timestamp":
      return (value) => {
        const text = timestampText(value as bigint)
          .replace("T", " ")
          .replace(/\.?0+$/, cutZeros);
        return type.zoned ? `${text}Z` : text;
      };
    case "list": {
      const item = displayText(type.item);
      return (value) => `[${(value as Value[]).map(item).join(", ")}]`;
    }
    case "struct": {
      const fields = type.fields.map((field) => ({ name: field.name, text: displayText(field.type) }));
      return (value) =>
        `{${fields.map(({ name, text }, index) => `${name}: ${text((value as Value[])[index] ?? null)}`).join(", ")}}`;
    }
    case "map": {
      const [key, inner] = [displayText(type.key), displayText(type.value)];
      return (value) =>
        `{${(value as [Value, Value][]).map(([k, v]) => `${key(k)}=${inner(v)}`).join(", ")}}`;
    }
    default:
      return String;
  }
}

/** Zeros at the end of a fraction say nothing; those of `00:00` do. */
function cutZeros(zeros: string): string {
  return zeros.startsWith(".") || zeros.length < 6 ? "" : zeros;
}

/** Printable ASCII as it is, every other byte as `\xHH`, as DuckDB shows a BLOB. */
function bytesText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) {
    const isPlain = byte >= 0x20 && byte < 0x7f && byte !== 0x5c;
    text += isPlain ? String.fromCharCode(byte) : `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}

const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Control characters, bidi controls and halves of surrogates as escapes: a message must not move the cursor or lie about its order. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\p{Cs}\u2028\u2029]/gu, (char) => {
    const code = char.codePointAt(0)!;
    const hex = code.toString(16).padStart(code < 256 ? 2 : 4, "0");
    return NAMED[char] ?? (code < 256 ? `\\x${hex}` : `\\u${hex}`);
  });
}

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
const ASCII = /^[\x20-\x7e]*$/;
/** East Asian Wide and Fullwidth (Unicode TR 11), in the ranges that scripts occupy. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1aff0}-\u{1b2fb}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u;
const EMOJI = /\p{Emoji_Presentation}|\p{Emoji}\ufe0f/u;
const ZERO = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** Terminal cells that a text takes. */
export function cellWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(segment: string): number {
  if (ZERO.test(segment)) return 0;
  return WIDE.test(segment) || EMOJI.test(segment) ? 2 : 1;
}

/** The text in at most `width` cells; what is cut ends in `…`. */
export function fit(text: string, width: number): string {
  if (ASCII.test(text) && text.length <= width) return text;
  let cut = "";
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const next = graphemeWidth(segment);
    if (used + next > width) {
      // Room for the mark is made by giving up what was taken last.
      while (used > width - 1) {
        const last = [...graphemes.segment(cut)].at(-1)!.segment;
        cut = cut.slice(0, cut.length - last.length);
        used -= graphemeWidth(last);
      }
      return `${cut}…`;
    }
    cut += segment;
    used += next;
  }
  return text;
}
