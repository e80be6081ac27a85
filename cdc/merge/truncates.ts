/** Truncates that a table remembers: what is older than one and arrives later counts for nothing. In the table's properties, so that they are committed with the rows. */

import { LabError } from "../../core/errors.ts";
import type { Order, Truncate } from "../change.ts";
import { isProvenOlder } from "./decide.ts";

/** Table property: the newest truncates, as JSON. */
export const TRUNCATES_PROPERTY = "lab.cdc.truncates";

type Text = {
  position: null | {
    source: string;
    hi: string;
    lo: string;
    sub: string;
    timeMicros: string | null;
    isSnapshot: boolean;
  };
  place: { partition: number; offset: string; generation: number };
};

/** CORRUPT_LOG where somebody else wrote the property. */
export function truncatesOf(configuration: Readonly<Record<string, string>>): Order[] {
  const text = configuration[TRUNCATES_PROPERTY];
  if (text === undefined) return [];
  try {
    return (JSON.parse(text) as Text[]).map(({ position, place }) => ({
      position: position && {
        source: position.source,
        hi: BigInt(position.hi),
        lo: BigInt(position.lo),
        sub: BigInt(position.sub),
        timeMicros: position.timeMicros === null ? null : BigInt(position.timeMicros),
        isSnapshot: position.isSnapshot,
      },
      place: { ...place, offset: BigInt(place.offset) },
    }));
  } catch (cause) {
    throw new LabError(
      "CORRUPT_LOG",
      `table property ${TRUNCATES_PROPERTY} cannot be read: ${text.slice(0, 200)}`,
      {
        hint: "remove the property; changes from before the table was emptied may then come back",
        cause,
      },
    );
  }
}

/** Both together, without those that a newer one covers. */
export function joined(known: readonly Order[], more: readonly Truncate[]): Order[] {
  const all: Order[] = [...known, ...more];
  return all.filter(
    (one, i) => !all.some((other, j) => isProvenOlder(one, other) || (i > j && isSame(one, other))),
  );
}

function isSame(a: Order, b: Order): boolean {
  return !isProvenOlder(a, b) && !isProvenOlder(b, a) && a.place.partition === b.place.partition;
}

export function truncatesText(truncates: readonly Order[]): string {
  const texts = truncates.map(({ position, place }): Text => {
    const { partition, offset, generation } = place;
    return {
      position: position && {
        ...{ source: position.source, isSnapshot: position.isSnapshot },
        ...{ hi: `${position.hi}`, lo: `${position.lo}`, sub: `${position.sub}` },
        timeMicros: position.timeMicros === null ? null : `${position.timeMicros}`,
      },
      place: { partition, offset: `${offset}`, generation },
    };
  });
  return JSON.stringify(texts);
}
