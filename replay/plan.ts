/** What a replay would do, and whether its target is fit for it; nothing is made, sent or taken over. */

import type { Kafka } from "../kafka/ports.ts";
import { type CourseOptions, openCourse, type Rewrite } from "./course.ts";
import { progressTopicOf, readProgress, transactionalIdOf } from "./progress.ts";
import { inspectTarget, requireNoLoop } from "./target.ts";

export type ReplayPlan = {
  topic: string;
  target: string;
  version: number;
  /** Of the target, if it is made. */
  partitions: number;
  isTargetNew: boolean;
  /** An earlier run has sent so many, and this one would go on behind them. */
  sent: number;
  isResumed: boolean;
  /** What would be sent. */
  rows: number;
  parts: { partition: number; rows: number; first: bigint; last: bigint }[];
  withoutOrigin: number;
  rewrites: Rewrite[];
};

export type PlanOptions = CourseOptions & { kafka: Kafka; now: () => number };

/** Fails as the replay would before its first record: TARGET_UNFIT, REPLAY_UNDERWAY, ORIGIN_MISSING, USAGE, VERSION_NOT_FOUND. */
export async function planReplay(options: PlanOptions): Promise<ReplayPlan> {
  const { table, kafka, target, signal, now } = options;
  const admin = await kafka.admin();
  try {
    const { id } = (await table.latest(signal)).metadata;
    const progressTopic = progressTopicOf(id, target);
    const isBegun = (await admin.partitions(progressTopic)) !== null;
    const last = isBegun
      ? await readProgress(admin, progressTopic, transactionalIdOf(id, target), signal)
      : null;
    const course = await openCourse(options, last);
    const { lake, version, known, partitions } = course;
    try {
      if (known?.isDone) await requireNoLoop(admin, course.wish, signal);
      const isThere = known !== null || (await inspectTarget(admin, course.wish, { nowMs: now(), signal }));
      const behind = await lake.behind(known?.reached ?? (await course.begin()), signal);
      const parts = [...behind].map(([partition, { rows, first, last: end }]) => ({
        ...{ partition, rows, first: first.offset, last: end.offset },
      }));
      return {
        ...{ topic: lake.topic, target, version, partitions, isTargetNew: !isThere },
        ...{ sent: known?.sent ?? 0, isResumed: known !== null, parts },
        rows: parts.reduce((sum, { rows }) => sum + rows, 0),
        withoutOrigin: lake.withoutOrigin,
        rewrites: await course.rewrites(),
      };
    } finally {
      await lake.close();
    }
  } finally {
    await admin.close();
  }
}
