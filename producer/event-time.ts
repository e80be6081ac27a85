/** When what a message tells of happened, by one of its own fields. */

import type { Message } from "./source.ts";

/** In ms since 1970: of a text in ISO 8601 with a zone, or of a number, which is ms already; null for anything else. */
export function eventTimeFrom(field: string, { value }: Message): number | null {
  let found: unknown;
  try {
    const parsed: unknown = JSON.parse(value?.toString() ?? "");
    found = typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>)[field] : null;
  } catch {
    return null;
  }
  if (typeof found === "string" && !HAS_ZONE.test(found)) return null;
  const ms = typeof found === "string" ? Date.parse(found) : typeof found === "number" ? found : Number.NaN;
  return Number.isNaN(new Date(ms).valueOf()) ? null : Math.floor(ms);
}

const HAS_ZONE = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/;
