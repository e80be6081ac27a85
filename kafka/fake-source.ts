/** The fake's reader: the adapter's holds on a partition (assignment.ts), over a log in memory. */

import type { LabError } from "../core/errors.ts";
import { createAssignment, type Lane } from "./assignment.ts";
import type { FakeCluster, FakeMember } from "./fake-cluster.ts";
import { recordsOf } from "./fetch/columns.ts";
import type {
  FetchedBatch,
  Position,
  Source,
  SourceHandlers,
  SourceOptions,
  TopicPartition,
} from "./ports.ts";

export type FakeSource = Source & {
  readonly member: FakeMember;
  /** Hands over what is at another offset than the expected one, as if of an older generation where one is given. */
  misdeliver(position: Position, generation?: number): Promise<void>;
  /** Moves the client's own position without a word. */
  drift(position: Position): void;
  /** Delivers nothing more, and says nothing. */
  silence(how: Silence): void;
};

/** How long a client that died without a word stays dead. */
export type Silence = "until it rejoins" | "for good";

/** What the bytes of records become when their reader has copied them: whoever reads them still finds no JSON. */
const SPENT = 0xee;

export function createFakeSource(
  cluster: FakeCluster,
  options: SourceOptions,
  settings: { mostRecords: number; joined(source: FakeSource): void; left(source: FakeSource): void },
): FakeSource {
  const assignment = createAssignment(() => {
    for (const lane of assignment.free()) void pump(lane);
  });
  const pumping = new Set<Lane>();
  let handlers: SourceHandlers | null = null;
  let silence: Silence | null = null;
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });

  const isCurrent = (lane: Lane, seeks: number) => assignment.lane(lane) === lane && lane.seeks === seeks;

  let isStopped = false;
  function stop(): void {
    isStopped = true;
    cluster.leave(options.group, member);
    settings.left(source);
    end();
  }

  /** True where the batch was taken in, and nothing moved the lane meanwhile. */
  async function deliver(lane: Lane, batch: FetchedBatch): Promise<boolean> {
    const { seeks } = lane;
    try {
      await handlers?.batch(batch);
    } catch (error) {
      const given = handlers;
      stop();
      given?.fatal(error as Error);
    }
    if (options.copiesRecords) batch.records.bytes.fill(SPENT);
    return isCurrent(lane, seeks);
  }

  function batchOf(lane: TopicPartition, fetchedOffset: bigint, generation: number): FetchedBatch {
    const topic = cluster.topic(lane.topic);
    const log = topic.logs[lane.partition]!;
    const timestampType = topic.config["message.timestamp.type"] === "LogAppendTime" ? "append" : "create";
    const found = log.read(fetchedOffset, settings.mostRecords);
    const { records, nextOffset } = found ?? { records: [], nextOffset: log.low };
    return {
      topic: lane.topic,
      partition: lane.partition,
      generation,
      fetchedOffset: found === null ? log.low : fetchedOffset,
      nextOffset,
      timestampType,
      records: recordsOf(records),
    };
  }

  async function pump(lane: Lane): Promise<void> {
    if (pumping.has(lane)) return;
    pumping.add(lane);
    for (;;) {
      await new Promise(setImmediate);
      const { generation } = assignment;
      const { nextOffset } = lane;
      if (silence !== null || generation === null || assignment.lane(lane) !== lane || lane.holds.size > 0)
        break;
      if (cluster.find(lane.topic)?.logs[lane.partition] === undefined) break;
      const batch = batchOf(lane, nextOffset, generation);
      if (batch.fetchedOffset !== nextOffset) {
        assignment.hold(lane, "strayed");
        await deliver(lane, batch);
        continue;
      }
      if (batch.nextOffset === nextOffset) break;
      if (await deliver(lane, batch)) lane.nextOffset = batch.nextOffset;
    }
    pumping.delete(lane);
  }

  const member: FakeMember = {
    topics: options.topics,
    lost() {
      const generation = assignment.end();
      if (generation !== null) handlers?.revoked(generation);
    },
    joined(partitions) {
      handlers?.assigned(partitions, assignment.begin(partitions));
    },
    wake() {
      for (const lane of assignment.free()) void pump(lane);
    },
    down: (error: LabError) => handlers?.outage(error),
  };

  const source: FakeSource = {
    member,
    async run(given) {
      await new Promise(setImmediate);
      cluster.requireUp();
      for (const topic of options.topics) cluster.topic(topic);
      handlers = given;
      settings.joined(source);
      cluster.join(options.group, member);
      await ended;
    },
    start(positions, generation) {
      if (generation !== assignment.generation) return;
      for (const position of positions)
        if (assignment.lane(position)?.holds.has("unstarted") === true) assignment.seek(position);
    },
    seek: assignment.seek,
    pause: assignment.pause,
    resume: assignment.resume,
    async publishOffsets(positions) {
      const owned = positions.filter((position) => assignment.lane(position) !== undefined);
      if (!cluster.isDown) cluster.commit(options.group, owned);
    },
    async rejoin() {
      if (handlers === null) return;
      cluster.leave(options.group, member);
      await new Promise(setImmediate);
      if (silence === "until it rejoins") silence = null;
      if (!isStopped) cluster.join(options.group, member);
    },
    async close() {
      stop();
    },
    async misdeliver(position, generation) {
      const lane = assignment.lane(position);
      const now = assignment.generation;
      if (lane !== undefined && now !== null)
        await deliver(lane, batchOf(position, position.nextOffset, generation ?? now));
    },
    silence(how) {
      silence = how;
    },
    drift(position) {
      const lane = assignment.lane(position);
      if (lane === undefined) return;
      lane.nextOffset = position.nextOffset;
      void pump(lane);
    },
  };
  return source;
}
