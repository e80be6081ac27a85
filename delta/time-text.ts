/** Dates and timestamps between their counts since the epoch and their text. Years beyond 9999 are written as ISO 8601 does. */

const DAY_MS = 86_400_000;
const DATE = /^([+-]?\d{4,6})-(\d{1,2})-(\d{1,2})$/;
const TIMESTAMP =
  /^([+-]?\d{4,6}-\d{1,2}-\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s*(Z|UTC|[+-]\d{2}(?::?\d{2})?)?$/;

/** Days since 1970-01-01 as `yyyy-MM-dd`. */
export function dateText(days: number): string {
  return new Date(days * DAY_MS).toISOString().split("T")[0]!;
}

/** Days since 1970-01-01, or undefined where the text is no date. */
export function parseDate(text: string): number | undefined {
  const found = DATE.exec(text.trim());
  if (!found) return undefined;
  const [year, month, day] = [Number(found[1]), Number(found[2]), Number(found[3])];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  return isReal ? date.getTime() / DAY_MS : undefined;
}

/** Microseconds as `yyyy-MM-dd`, `between`, `HH:mm:ss.ffffff`, without a zone. */
export function timestampText(micros: bigint, between: "T" | " "): string {
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((micros - fraction) / 1000n)).toISOString().slice(0, -5);
  return `${seconds.replace("T", between)}.${String(fraction).padStart(6, "0")}`;
}

/**
 * Microseconds since the epoch, or undefined where the text is no timestamp. ISO form or with a space; without a zone it is UTC. Digits beyond
 * microseconds are cut.
 */
export function parseTimestamp(text: string): bigint | undefined {
  const found = TIMESTAMP.exec(text.trim());
  const days = found ? parseDate(found[1]!) : undefined;
  if (!found || days === undefined) return undefined;
  const [hour, minute, second] = [found[2], found[3], found[4]].map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
  ];
  if (hour > 24 || minute > 59 || second > 59) return undefined;
  const micros = BigInt((found[5] ?? "").padEnd(6, "0").slice(0, 6));
  const seconds = days * 86_400 + hour * 3600 + minute * 60 + second - zoneSeconds(found[6]);
  return BigInt(seconds) * 1_000_000n + micros;
}

function zoneSeconds(zone: string | undefined): number {
  const found = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone ?? "");
  return found ? (found[1] === "-" ? -1 : 1) * (Number(found[2]) * 3600 + Number(found[3] ?? 0) * 60) : 0;
}
