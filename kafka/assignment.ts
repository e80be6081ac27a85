/** The partitions a member has now: where each stands, and what holds it back. */

import type { Position, TopicPartition } from "./ports.ts";

/**
 * Why a partition does not flow. `unstarted`: no position was given yet. `asked`: the reader paused it. `busy`: a batch is still being
 * taken in. `strayed`: its position is not in the log, so only a seek can help.
 */
export type Hold = "unstarted" | "asked" | "busy" | "strayed";

export type Lane = TopicPartition & {
  /** The offset to be asked for next. */
  nextOffset: bigint;
  /** How often it was sought: what was fetched before a seek must not move the position after it. */
  seeks: number;
  holds: Set<Hold>;
};

/** What the client is told. */
export type Gate = {
  open(partition: TopicPartition): void;
  shut(partition: TopicPartition): void;
  move(position: Position): void;
};

export type Assignment = {
  /** The generation that runs, or null between two. */
  readonly generation: number | null;
  /** Shuts all of the partitions and gives the new generation. */
  begin(partitions: readonly TopicPartition[], gate: Gate): number;
  /** The generation that ended with this call, or null where none ran. */
  end(): number | null;
  /** The same object for the whole generation. */
  lane(partition: TopicPartition): Lane | undefined;
  /** Sets the position; releases `unstarted` and `strayed`. Nothing happens for a partition that is not assigned. */
  seek(position: Position): void;
  /** Sets the position of a lane that was read up to there, and releases nothing. */
  advance(lane: Lane, nextOffset: bigint): void;
  hold(lane: Lane, why: Hold): void;
  /** Opens the lane once nothing holds it any more. */
  release(lane: Lane, why: Hold): void;
  /** Holds and releases because the reader asked; what is not assigned is passed over. */
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
};

export function createAssignment(): Assignment {
  let last = 0;
  let generation: number | null = null;
  let gate: Gate | null = null;
  const lanes = new Map<string, Lane>();

  const isCurrent = (lane: Lane) => lanes.get(nameOf(lane)) === lane;
  function release(lane: Lane, ...whys: Hold[]): void {
    const wasHeld = lane.holds.size > 0;
    for (const why of whys) lane.holds.delete(why);
    if (wasHeld && lane.holds.size === 0 && isCurrent(lane)) gate?.open(lane);
  }

  function hold(lane: Lane, why: Hold): void {
    if (!isCurrent(lane)) return;
    if (lane.holds.size === 0) gate?.shut(lane);
    lane.holds.add(why);
  }
  const assigned = (partitions: readonly TopicPartition[]): Lane[] =>
    partitions.flatMap((partition) => lanes.get(nameOf(partition)) ?? []);

  return {
    get generation() {
      return generation;
    },
    begin(partitions, newGate) {
      lanes.clear();
      gate = newGate;
      for (const { topic, partition } of partitions) {
        const lane: Lane = { topic, partition, nextOffset: -1n, seeks: 0, holds: new Set(["unstarted"]) };
        lanes.set(nameOf(lane), lane);
        gate.shut(lane);
      }
      last += 1;
      generation = last;
      return last;
    },
    end() {
      const ended = generation;
      generation = null;
      gate = null;
      lanes.clear();
      return ended;
    },
    lane: (partition) => lanes.get(nameOf(partition)),
    seek(position) {
      const lane = lanes.get(nameOf(position));
      if (lane === undefined) return;
      lane.nextOffset = position.nextOffset;
      lane.seeks += 1;
      gate?.move(position);
      release(lane, "unstarted", "strayed");
    },
    advance(lane, nextOffset) {
      if (!isCurrent(lane)) return;
      lane.nextOffset = nextOffset;
      gate?.move(lane);
    },
    hold,
    release,
    pause(partitions) {
      for (const lane of assigned(partitions)) hold(lane, "asked");
    },
    resume(partitions) {
      for (const lane of assigned(partitions)) release(lane, "asked");
    },
  };
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${partition}/${topic}`;
}
