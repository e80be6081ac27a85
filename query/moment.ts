/** Times as people type them: ISO 8601, UTC where no zone is given. */

import { LabError } from "../core/errors.ts";

const ISO =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i;

/** Milliseconds since the epoch, cut down. USAGE where it is no date, or no date that exists. */
export function momentOf(text: string): number {
  const [, date, time = "00:00", zone = "Z"] = ISO.exec(text.trim()) ?? [];
  const offset = /^[+-]\d{2}$/.test(zone)
    ? `${zone}:00`
    : zone.replace(/^([+-]\d{2})(\d{2})$/, "$1:$2").toUpperCase();
  const ms = date === undefined ? Number.NaN : Date.parse(`${date}T${time}${offset}`);
  const isReal = !Number.isNaN(ms) && new Date(Date.parse(`${date}T00:00Z`)).toISOString().startsWith(date!);
  if (isReal) return Math.floor(ms);
  throw new LabError("USAGE", `${JSON.stringify(text)} is no time`, {
    hint: "write it as 2026-11-29T20:15:03Z; without a zone it is UTC",
  });
}
