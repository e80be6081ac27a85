/** What the fake's sources, sinks and admins share: topics, groups, and whether the broker is there. */

import { LabError } from "../core/errors.ts";
import { createPartitionLog, type NewRecord, type PartitionLog } from "./fake-log.ts";
import type { OutgoingRecord, Position, TopicPartition } from "./ports.ts";

export type FakeTopic = { name: string; logs: PartitionLog[]; config: Record<string, string> };

/** A member as its group sees it. */
export type FakeMember = {
  topics: readonly string[];
  lost(): void;
  joined(partitions: TopicPartition[]): void;
  /** Something new may be there to be read. */
  wake(): void;
  down(error: LabError): void;
};

export type FakeCluster = {
  readonly isDown: boolean;
  topic(name: string): FakeTopic;
  find(name: string): FakeTopic | undefined;
  names(): string[];
  create(name: string, partitions: number, config: Record<string, string>): boolean;
  remove(name: string): void;
  addPartitions(name: string, total: number): void;
  /** Throws BROKER_UNREACHABLE while the broker is away. */
  requireUp(): void;
  setDown(isDown: boolean): void;
  /** Resolves once the broker is there; rejects with the signal's reason. */
  whenUp(signal: AbortSignal): Promise<void>;
  join(group: string, member: FakeMember): void;
  leave(group: string, member: FakeMember): void;
  /** How many a group has. */
  members(group: string): number;
  rebalance(group: string): void;
  owner(partition: TopicPartition): FakeMember[];
  wakeAll(): void;
  commit(group: string, positions: readonly Position[]): void;
  committed(group: string, partition: TopicPartition): bigint | null;
  stamp(topic: FakeTopic, record: OutgoingRecord): NewRecord;
};

export function createFakeCluster(now: () => number): FakeCluster {
  const topics = new Map<string, FakeTopic>();
  const groups = new Map<string, Set<FakeMember>>();
  const owned = new Map<FakeMember, TopicPartition[]>();
  const rounds = new Map<string, number>();
  const commits = new Map<string, bigint>();
  const waiting = new Set<() => void>();
  let isDown = false;

  function topic(name: string): FakeTopic {
    const found = topics.get(name);
    if (found === undefined)
      throw new LabError("TOPIC_MISSING", `topic ${name} not found on the fake broker`);
    return found;
  }

  /** Eager, as kafkajs does it: all lose what they have, and in a later turn of the event loop get their new share. */
  function rebalance(group: string): void {
    const members = [...(groups.get(group) ?? [])];
    for (const member of members) {
      owned.delete(member);
      member.lost();
    }
    const round = (rounds.get(group) ?? 0) + 1;
    rounds.set(group, round);
    setImmediate(() => {
      if (!isDown && rounds.get(group) === round) share(group);
    });
  }

  function share(group: string): void {
    const members = [...(groups.get(group) ?? [])];
    if (members.length === 0) return;
    const shares = new Map<FakeMember, TopicPartition[]>(members.map((member) => [member, []]));
    const names = new Set(members.flatMap((member) => member.topics));
    let turn = 0;
    for (const name of [...names].sort()) {
      const takers = members.filter((member) => member.topics.includes(name));
      topics.get(name)?.logs.forEach((_, partition) => {
        shares.get(takers[turn++ % takers.length]!)!.push({ topic: name, partition });
      });
    }
    for (const [member, partitions] of shares) {
      owned.set(member, partitions);
      member.joined(partitions);
    }
  }

  const groupsOf = (name: string) =>
    [...groups]
      .filter(([, members]) => [...members].some((member) => member.topics.includes(name)))
      .map(([group]) => group);
  const wakeAll = () => {
    for (const members of groups.values()) for (const member of members) member.wake();
  };

  return {
    get isDown() {
      return isDown;
    },
    topic,
    find: (name) => topics.get(name),
    names: () => [...topics.keys()].sort(),
    create(name, partitions, config) {
      if (topics.has(name)) return false;
      topics.set(name, { name, logs: Array.from({ length: partitions }, createPartitionLog), config });
      return true;
    },
    remove(name) {
      topic(name);
      topics.delete(name);
      for (const group of groupsOf(name)) rebalance(group);
    },
    addPartitions(name, total) {
      const { logs } = topic(name);
      while (logs.length < total) logs.push(createPartitionLog());
      for (const group of groupsOf(name)) rebalance(group);
    },
    requireUp() {
      if (isDown) throw unreachable();
    },
    setDown(value) {
      if (isDown === value) return;
      isDown = value;
      for (const [group, members] of groups) {
        rebalance(group);
        if (isDown) for (const member of members) member.down(unreachable());
      }
      if (isDown) return;
      for (const go of waiting) go();
      waiting.clear();
    },
    whenUp(signal) {
      if (!isDown) return Promise.resolve();
      return new Promise((resolve, reject) => {
        waiting.add(resolve);
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
    },
    join(group, member) {
      const members = groups.get(group) ?? new Set();
      groups.set(group, members.add(member));
      rebalance(group);
    },
    leave(group, member) {
      member.lost();
      owned.delete(member);
      if (groups.get(group)?.delete(member) === true) rebalance(group);
    },
    members: (group) => groups.get(group)?.size ?? 0,
    rebalance,
    owner: ({ topic: name, partition }) =>
      [...owned]
        .filter(([, partitions]) =>
          partitions.some((one) => one.topic === name && one.partition === partition),
        )
        .map(([member]) => member),
    wakeAll,
    commit(group, positions) {
      for (const position of positions) commits.set(nameOf(group, position), position.nextOffset);
    },
    committed: (group, partition) => commits.get(nameOf(group, partition)) ?? null,
    stamp({ config }, { key, value, headers = {}, timestampMs }) {
      const isAppend = config["message.timestamp.type"] === "LogAppendTime";
      const bytes = (one: Buffer | string) => (typeof one === "string" ? Buffer.from(one) : one);
      return {
        timestampMs: isAppend ? now() : (timestampMs ?? now()),
        key: key === null ? null : bytes(key),
        value: value === null ? null : bytes(value),
        headers: Object.entries(headers).flatMap(([name, one]) =>
          (typeof one === "string" || Buffer.isBuffer(one) ? [one] : one).map(
            (each) => [name, bytes(each)] as const,
          ),
        ),
      };
    },
  };
}

function nameOf(group: string, { topic, partition }: TopicPartition): string {
  return `${group}\n${topic}\n${partition}`;
}

function unreachable(): LabError {
  return new LabError("BROKER_UNREACHABLE", "no Kafka broker answers at fake:9092: it was switched off");
}
