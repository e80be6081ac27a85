/** The checksum of `_last_checkpoint` (PROTOCOL.md, "JSON checksum"): MD5 of a form that is the same however the JSON is laid out. */

import { createHash } from "node:crypto";
import { parseSpelled } from "./json.ts";

/** Hexadecimal, of a JSON object's text. A checksum that stands in it is left out. Throws SyntaxError, and URIError for half a surrogate pair. */
export function jsonChecksum(text: string): string {
  const parsed = parseSpelled(text, (digits) => new Spelling(digits));
  const { checksum: _, ...fields } = parsed as Record<string, unknown>;
  const lines = [...flatten(fields, [])].sort((a, b) => Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0])));
  const canonical = lines.map(([path, value]) => `${path}=${value}`).join(",");
  return createHash("md5").update(canonical).digest("hex");
}

/** A number, as it is written. */
class Spelling {
  readonly #digits: string;
  constructor(digits: string) {
    this.#digits = digits;
  }
  toString(): string {
    return this.#digits;
  }
}

/** Paths and values; array positions stand bare, names and strings quoted and percent-encoded. Numbers keep their spelling. */
function* flatten(value: unknown, path: readonly string[]): Generator<[path: string, value: string]> {
  if (typeof value !== "object" || value === null || value instanceof Spelling) {
    yield [path.join("+"), typeof value === "string" ? quoted(value) : String(value)];
  } else if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) yield* flatten(item, [...path, String(at)]);
  } else {
    for (const [name, item] of Object.entries(value)) yield* flatten(item, [...path, quoted(name)]);
  }
}

function quoted(text: string): string {
  const encoded = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `"${encoded}"`;
}
