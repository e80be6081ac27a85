/** JSON messages that name their schema in a registry, and are checked by it. */

import { isUtf8 } from "node:buffer";
import { brief } from "./brief.ts";
import type { Decoded, Decoder } from "./decoder.ts";
import { createFramedDecoder } from "./framed.ts";
import { type CompiledSchema, compileJsonSchema } from "./json-schema-compile.ts";
import type { Registry } from "./registry.ts";

/**
 * Values in a registry's wire format: zero, schema id, JSON. What fits its schema goes through byte for byte: it is parsed for the check
 * alone, which sees numbers as doubles.
 */
export function createRegistryJsonSchemaDecoder(registry: Registry): Decoder {
  return createFramedDecoder<CompiledSchema>(registry, {
    type: "JSON",
    split: (afterId) => ({ part: "", payload: afterId }),
    compile: ({ text, references }) => compileJsonSchema(text, references),
    decode: check,
    columns: ({ columns }) => columns,
  });
}

function check(schema: CompiledSchema, payload: Uint8Array): Decoded {
  if (payload.length === 0) return bad("EMPTY_VALUE", "nothing follows the schema's id");
  if (!isUtf8(payload)) return bad("INVALID_UTF8", "the value is not UTF-8 text");
  const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString("utf8");
  try {
    const violation = schema.violation(JSON.parse(text));
    return violation === undefined ? { objects: [payload] } : bad("SCHEMA_VIOLATED", violation, "schema");
  } catch (error) {
    const { message } = error as Error;
    // Such as a stack that ends where a schema is in itself and the message follows it too far.
    if (!(error instanceof SyntaxError))
      return bad("SCHEMA_VIOLATED", `it cannot be checked: ${message}`, "schema");
    const isMarked = text.startsWith("\ufeff");
    return bad("MALFORMED_JSON", isMarked ? "the value begins with a byte order mark" : message);
  }
}

function bad(code: string, message: string, stage: "decode" | "schema" = "decode"): Decoded {
  return { bad: { stage, code, message: brief(message) } };
}
