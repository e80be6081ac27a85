/** How far the origins of a topic have come, by their heartbeats; pure. */

import type { Cell } from "./cells.ts";
import type { Span } from "./day.ts";
import { type Beat, type Cause, DEAD_MS, type Finding, SILENT_MS, SKEW_MS, STAGES } from "./findings.ts";

export type OriginState = {
  origin: string;
  /** Of its newest run; null where it was never heard. */
  host: string | null;
  /** Broker's time of its newest heartbeat, in ms; null where it was never heard. */
  heardMs: number | null;
  /** Its event time has passed this, as far as it is believed: nothing earlier will come. The span's end once nothing at all will come. */
  passedMs: number | null;
  /** `idle`: alive, and nothing of the span came of it. */
  state: "alive" | "idle" | "ended" | "retired" | Extract<Cause, "unheard" | "silent" | "dead" | "skewed">;
  produced: number;
  settled: number;
};

/** A run that began before the span's end, and did not end in order before it began, may have sent something of it. */
export const mayHaveSent = (beat: Beat, span: Span) =>
  beat.epoch < span.endMs && !(beat.isClosed && beat.sentAtMs < span.startMs);

/** Why more may come of an origin, by its heartbeats, oldest run first; undefined where its newest run says that nothing will. */
export function openEnd(
  origin: string,
  beats: readonly Beat[],
  span: Span,
  nowMs: number,
): Finding | undefined {
  const last = beats.at(-1);
  const found = (cause: Cause, sinceMs: number | undefined): Finding => ({
    ...{ origin, epoch: last?.epoch, windowMs: undefined, stage: STAGES[cause], cause, count: 0, sinceMs },
  });
  if (!last) return found("unheard", undefined);
  if (last.isClosed || passed(last) >= span.endMs) return undefined;
  const quietMs = nowMs - last.receivedAtMs;
  if (quietMs > DEAD_MS) return found("dead", last.receivedAtMs);
  if (quietMs > SILENT_MS) return found("silent", last.receivedAtMs);
  if (isSkewed(last)) return found("skewed", last.receivedAtMs);
  return found("lagging", last.lowEventTimeMs);
}

/** What a page shows of an origin. */
export function originState(
  origin: string,
  beats: readonly Beat[],
  known: {
    cells: readonly Cell[];
    waiting: Finding | undefined;
    isRetired: boolean;
    nowMs: number;
    span: Span;
  },
): OriginState {
  const { cells, waiting, isRetired, span } = known;
  const last = beats.at(-1);
  const produced = cells.reduce((sum, { stated }) => sum + stated, 0);
  const settled = cells.reduce((sum, { found }) => sum + found, 0);
  const isOver = isRetired || last?.isClosed === true;
  const trouble = waiting?.cause === "lagging" ? undefined : (waiting?.cause as OriginState["state"]);
  return {
    origin,
    host: last?.host ?? null,
    heardMs: last?.receivedAtMs ?? null,
    passedMs: isOver ? span.endMs : last ? passed(last) : null,
    state: isRetired
      ? "retired"
      : last?.isClosed
        ? "ended"
        : (trouble ?? (produced + settled === 0 ? "idle" : "alive")),
    ...{ produced, settled },
  };
}

const isSkewed = (beat: Beat) => beat.lowEventTimeMs > beat.receivedAtMs + SKEW_MS;
/** A clock that is ahead may be set right: then it has come no further than the broker's. */
const passed = (beat: Beat) => (isSkewed(beat) ? beat.receivedAtMs : beat.lowEventTimeMs);
