/** A message's key from one of its own fields. */

import { parse as parseExactly, stringify } from "lossless-json";
import type { Message } from "./source.ts";

/**
 * The field's value as text: strings as they are, numbers with every digit they have, booleans and objects as JSON; null where there is
 * none or the value is no JSON object.
 */
export function keyFrom(field: string, { value }: Message): string | null {
  const text = value?.toString() ?? "";
  const found = fieldOf(field, text, JSON.parse);
  if (found === undefined || found === null || typeof found === "string") return found ?? null;
  if (typeof found === "boolean") return String(found);
  // JSON.parse rounds what does not fit a double.
  return stringify(fieldOf(field, text, parseExactly)) ?? null;
}

function fieldOf(field: string, text: string, parse: (text: string) => unknown): unknown {
  try {
    const parsed = parse(text);
    const isObject = typeof parsed === "object" && parsed !== null && Object.hasOwn(parsed, field);
    return isObject ? (parsed as Record<string, unknown>)[field] : undefined;
  } catch {
    return undefined;
  }
}
