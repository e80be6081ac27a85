/**
 * Strict JSON (RFC 8259) with numbers as they are written. In place of lossless-json where messages of any size come in: that one builds
 * texts character by character, which takes seconds for 10 MB.
 */

/** A number that keeps its digits. */
export class JsonNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Objects have no prototype: any name is a field like any other. */
export type JsonValue = null | boolean | string | JsonNumber | JsonValue[] | JsonObject;
export type JsonObject = { [name: string]: JsonValue };

const MAX_DEPTH = 1000;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORDS: readonly (readonly [string, true | false | null])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];

/** The value of `text`; of doubled keys the last. Throws SyntaxError that says what was expected where. */
export function parseJsonExactly(text: string): JsonValue {
  let at = 0;

  function skipSpace(): void {
    for (;;) {
      const unit = text.charCodeAt(at);
      if (unit !== 32 && unit !== 10 && unit !== 13 && unit !== 9) return;
      at++;
    }
  }

  function fail(expected: string): SyntaxError {
    const found = at >= text.length ? "the end" : JSON.stringify(String.fromCodePoint(text.codePointAt(at)!));
    return new SyntaxError(`expected ${expected} but found ${found} at position ${at}`);
  }

  function value(depth: number): JsonValue {
    if (depth > MAX_DEPTH) throw new SyntaxError(`nested deeper than ${MAX_DEPTH} at position ${at}`);
    switch (text[at]) {
      case "{":
        return object(depth);
      case "[":
        return array(depth);
      case '"':
        return string();
      default:
        return numberOrWord();
    }
  }

  function numberOrWord(): JsonValue {
    NUMBER.lastIndex = at;
    const digits = NUMBER.exec(text)?.[0];
    if (digits !== undefined) {
      at += digits.length;
      return new JsonNumber(digits);
    }
    for (const [word, meaning] of WORDS) {
      if (!text.startsWith(word, at)) continue;
      at += word.length;
      return meaning;
    }
    throw fail("a value");
  }

  function string(): string {
    const start = at++;
    let isEscaped = false;
    for (; ; at++) {
      const unit = text.charCodeAt(at);
      if (unit === 34) break;
      if (unit === 92) {
        isEscaped = true;
        at++;
      } else if (!(unit >= 32)) throw fail('the end of a string, "');
    }
    at++;
    if (!isEscaped) return text.slice(start + 1, at - 1);
    try {
      return JSON.parse(text.slice(start, at)) as string;
    } catch {
      throw new SyntaxError(`a string with an escape that does not exist at position ${start}`);
    }
  }

  function object(depth: number): JsonObject {
    const fields: JsonObject = Object.create(null);
    at++;
    skipSpace();
    if (text[at] === "}") {
      at++;
      return fields;
    }
    for (;;) {
      if (text[at] !== '"') throw fail("a field name in quotes");
      const name = string();
      skipSpace();
      if (text[at] !== ":") throw fail(":");
      at++;
      skipSpace();
      fields[name] = value(depth + 1);
      if (isLast("}")) return fields;
    }
  }

  function array(depth: number): JsonValue[] {
    const elements: JsonValue[] = [];
    at++;
    skipSpace();
    if (text[at] === "]") {
      at++;
      return elements;
    }
    for (;;) {
      elements.push(value(depth + 1));
      if (isLast("]")) return elements;
    }
  }

  /** Steps over a comma to what follows, or over the closing bracket. */
  function isLast(close: string): boolean {
    skipSpace();
    const found = text[at];
    if (found !== "," && found !== close) throw fail(`, or ${close}`);
    at++;
    if (found === close) return true;
    skipSpace();
    return false;
  }

  skipSpace();
  const whole = value(0);
  skipSpace();
  if (at < text.length) throw fail("the end");
  return whole;
}
