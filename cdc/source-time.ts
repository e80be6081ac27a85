/** Times that a source sends as numbers, as the texts that the encoder reads; null outside of the years 1900 to 2200, where a unit is mistaken. */

/** What a number counts. */
export type TimeUnit = "ms" | "us" | "ns";

const EARLIEST_MS = Date.UTC(1900, 0, 1);
const LATEST_MS = Date.UTC(2201, 0, 1);
const DAY_MS = 86_400_000;
const PER_MS: Readonly<Record<TimeUnit, bigint>> = { ms: 1n, us: 1_000n, ns: 1_000_000n };
const FRACTION_DIGITS: Readonly<Record<TimeUnit, number>> = { ms: 3, us: 6, ns: 9 };

/** `2026-01-31` of days since 1970. */
export function dateOf(days: bigint): string | null {
  const ms = Number(days) * DAY_MS;
  return isWithin(ms) ? new Date(ms).toISOString().slice(0, 10) : null;
}

/** `2026-01-31T01:02:03.000004`, in the digits of the unit, of a time without a zone. */
export function localTimeOf(count: bigint, unit: TimeUnit): string | null {
  const per = PER_MS[unit] * 1000n;
  const fraction = ((count % per) + per) % per;
  const ms = Number((count - fraction) / PER_MS[unit]);
  if (!isWithin(ms)) return null;
  return `${new Date(ms).toISOString().slice(0, 19)}.${fraction.toString().padStart(FRACTION_DIGITS[unit], "0")}`;
}

/** The same with the zone that an instant has. */
export function instantOf(count: bigint, unit: TimeUnit): string | null {
  const local = localTimeOf(count, unit);
  return local === null ? null : `${local}Z`;
}

/** MySQL's TIME is a span, of up to 838 hours either way. */
const LONGEST_HOURS = 839n;

/** `01:02:03.004`, perhaps with a sign. */
export function timeOfDay(count: bigint, unit: TimeUnit): string | null {
  const per = PER_MS[unit] * 1000n;
  const span = count < 0n ? -count : count;
  const seconds = span / per;
  if (seconds >= LONGEST_HOURS * 3600n) return null;
  const two = (value: bigint) => value.toString().padStart(2, "0");
  const clock = `${two(seconds / 3600n)}:${two((seconds / 60n) % 60n)}:${two(seconds % 60n)}`;
  return `${count < 0n ? "-" : ""}${clock}.${(span % per).toString().padStart(FRACTION_DIGITS[unit], "0")}`;
}

const isWithin = (ms: number) => ms >= EARLIEST_MS && ms < LATEST_MS;

const ISO = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?$/;

/** µs since 1970 of an ISO 8601 text, in UTC where it has no zone; finer fractions are cut. */
export function isoMicros(text: string | null): bigint | null {
  const found = ISO.exec(text ?? "");
  if (!found) return null;
  const ms = Date.parse(`${found[1]}T${found[2]}${found[4] ?? "Z"}`);
  if (Number.isNaN(ms)) return null;
  return BigInt(ms) * 1000n + BigInt((found[3] ?? "").slice(0, 6).padEnd(6, "0"));
}
