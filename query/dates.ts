/** Dates and timestamps as text: proleptic Gregorian, years outside 0..9999 with a sign and six digits, as ISO 8601 has it. */

const DAY_MICROS = 86_400_000_000n;
/** DuckDB's own marks for the infinite ones. */
const MAX_DAYS = 2_147_483_647;
const MAX_MICROS = 9_223_372_036_854_775_807n;

/** Days since the epoch as `YYYY-MM-DD`. */
export function dateText(days: number): string {
  if (days === MAX_DAYS) return "infinity";
  if (days === -MAX_DAYS) return "-infinity";
  // Howard Hinnant's days-to-civil algorithm, in eras of 400 years that begin on 1 March.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${yearText(year)}-${pad(month, 2)}-${pad(day, 2)}`;
}

/** Microseconds since the epoch as `YYYY-MM-DDTHH:MM:SS.ffffff`, without a zone. */
export function timestampText(micros: bigint): string {
  if (micros === MAX_MICROS) return "infinity";
  if (micros === -MAX_MICROS) return "-infinity";
  let days = micros / DAY_MICROS;
  let rest = micros % DAY_MICROS;
  if (rest < 0n) {
    rest += DAY_MICROS;
    days -= 1n;
  }
  const ofDay = Number(rest);
  const seconds = Math.floor(ofDay / 1_000_000);
  const time = `${pad(Math.floor(seconds / 3600), 2)}:${pad(Math.floor(seconds / 60) % 60, 2)}:${pad(seconds % 60, 2)}`;
  return `${dateText(Number(days))}T${time}.${pad(ofDay % 1_000_000, 6)}`;
}

/** A moment in ms as all JSON of the lab writes it: ISO, UTC, six decimals. */
export function momentText(ms: number): string {
  return `${timestampText(BigInt(Math.floor(ms)) * 1000n)}Z`;
}

function yearText(year: number): string {
  if (year >= 0 && year <= 9999) return pad(year, 4);
  return `${year < 0 ? "-" : "+"}${pad(Math.abs(year), 6)}`;
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, "0");
}
