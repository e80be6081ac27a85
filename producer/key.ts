/** A message's key from one of its own fields. */

import type { Message } from "./source.ts";

/** The field's value as text: numbers and booleans as JSON writes them, objects as JSON; null where there is none or the value is no JSON object. */
export function keyFrom(field: string, { value }: Message): string | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value?.toString() ?? "");
  } catch {
    return null;
  }
  if (typeof parsed !== "object" || parsed === null) return null;
  const found = (parsed as Record<string, unknown>)[field];
  if (found === undefined || found === null) return null;
  return typeof found === "string" ? found : JSON.stringify(found);
}
