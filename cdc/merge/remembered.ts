/**
 * Places in the history that a table remembers in its properties, where they are committed together with the rows: truncates, before which nothing
 * counts, and the newest of the deleted rows that were purged, before which a key that is not there may have been deleted.
 */

import { LabError } from "../../core/errors.ts";
import type { Order } from "../change.ts";
import { compareOrder } from "../position.ts";
import { isProvenOlder } from "./decide.ts";

/** Table properties: orders as JSON. */
export const TRUNCATES_PROPERTY = "lab.cdc.truncates";
export const PURGED_PROPERTY = "lab.cdc.purged";

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
export function remembered(configuration: Readonly<Record<string, string>>, property: string): Order[] {
  const text = configuration[property];
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
    throw new LabError("CORRUPT_LOG", `table property ${property} cannot be read: ${text.slice(0, 200)}`, {
      hint: "remove the property; changes that are older than it may then bring rows back",
      cause,
    });
  }
}

/** Both together, without those that a newer one covers. */
export function joined(known: readonly Order[], more: Iterable<Order>): Order[] {
  let all = [...known];
  for (const one of more) {
    if (all.some((other) => isProvenOlder(one, other) || isSame(one, other))) continue;
    all = [...all.filter((other) => !isProvenOlder(other, one)), one];
  }
  return all;
}

function isSame(a: Order, b: Order): boolean {
  return compareOrder(a, b).order === 0;
}

export function rememberedText(orders: readonly Order[]): string {
  const texts = orders.map(({ position, place }): Text => {
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
