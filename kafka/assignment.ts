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

export type Assignment = {
  /** The generation that runs, or null between two. */
  readonly generation: number | null;
  /** Holds all of the partitions back as `unstarted`, and gives the new generation. */
  begin(partitions: readonly TopicPartition[]): number;
  /** The generation that ended with this call, or null where none ran. */
  end(): number | null;
  /** The same object for the whole generation. */
  lane(partition: TopicPartition): Lane | undefined;
  /** Those that nothing holds. */
  free(): Lane[];
  /** Sets the position; releases `unstarted` and `strayed`. Nothing happens for a partition that is not assigned. */
  seek(position: Position): void;
  /** Nothing happens with a lane of an older generation. */
  hold(lane: Lane, why: Hold): void;
  release(lane: Lane, why: Hold): void;
  /** Holds and releases because the reader asked; what is not assigned is passed over. */
  pause(partitions: readonly TopicPartition[]): void;
  resume(partitions: readonly TopicPartition[]): void;
};

/** `onChange` is called when a lane was released from something or moved, or all of them ended. */
export function createAssignment(onChange: () => void): Assignment {
  let last = 0;
  let generation: number | null = null;
  const lanes = new Map<string, Lane>();

  const isCurrent = (lane: Lane) => lanes.get(nameOf(lane)) === lane;
  function release(lane: Lane, ...whys: Hold[]): void {
    for (const why of whys) lane.holds.delete(why);
    if (isCurrent(lane)) onChange();
  }

  function hold(lane: Lane, why: Hold): void {
    if (isCurrent(lane)) lane.holds.add(why);
  }
  const assigned = (partitions: readonly TopicPartition[]): Lane[] =>
    partitions.flatMap((partition) => lanes.get(nameOf(partition)) ?? []);

  return {
    get generation() {
      return generation;
    },
    begin(partitions) {
      lanes.clear();
      for (const { topic, partition } of partitions) {
        const lane: Lane = { topic, partition, nextOffset: -1n, seeks: 0, holds: new Set(["unstarted"]) };
        lanes.set(nameOf(lane), lane);
      }
      last += 1;
      generation = last;
      return last;
    },
    end() {
      const ended = generation;
      generation = null;
      lanes.clear();
      onChange();
      return ended;
    },
    lane: (partition) => lanes.get(nameOf(partition)),
    free: () => [...lanes.values()].filter(({ holds }) => holds.size === 0),
    seek(position) {
      const lane = lanes.get(nameOf(position));
      if (lane === undefined) return;
      lane.nextOffset = position.nextOffset;
      lane.seeks += 1;
      release(lane, "unstarted", "strayed");
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
