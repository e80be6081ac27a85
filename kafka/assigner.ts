/**
 * Who of a group reads what: each topic's partitions in turn to those members that subscribed to it.
 *
 * The client's own assigner (2.2.4, roundRobinAssigner) deals out the leader's topics to all, so that in a group whose members subscribe
 * to different topics those of the others have no reader.
 */

import kafkajs, { type PartitionAssigner } from "kafkajs";

/** What a member tells the leader. */
export type MemberView = {
  memberId: string;
  topics: readonly string[];
  /** How many partitions it has seen of each. */
  counts: Readonly<Record<string, number>>;
};

export type Share = Record<string, number[]>;

/** The same for any order of `members`. A topic that nobody has seen partitions of is left out. */
export function shareOut(members: readonly MemberView[]): Map<string, Share> {
  const sorted = [...members].sort((a, b) => (a.memberId < b.memberId ? -1 : 1));
  const shares = new Map<string, Share>(sorted.map(({ memberId }) => [memberId, {}]));
  const topics = [...new Set(sorted.flatMap((member) => member.topics))].sort();
  // Goes on from topic to topic, or the first member would get the first partition of each.
  let turn = 0;
  for (const topic of topics) {
    const takers = sorted.filter((member) => member.topics.includes(topic));
    const count = Math.max(...takers.map(({ counts }) => counts[topic] ?? 0));
    for (let partition = 0; partition < count; partition++) {
      const share = shares.get(takers[turn++ % takers.length]!.memberId)!;
      share[topic] = [...(share[topic] ?? []), partition];
    }
  }
  return shares;
}

const NAME = "lab-by-subscription";
const VERSION = 1;

/** What the client takes as `partitionAssigners`. */
export const bySubscription: PartitionAssigner = ({ cluster }) => {
  const { MemberMetadata, MemberAssignment } = kafkajs.AssignerProtocol;
  const countOf = (topic: string) => cluster.findTopicPartitionMetadata(topic).length;
  const countsOf = (topics: readonly string[]) =>
    Object.fromEntries(topics.map((topic) => [topic, countOf(topic)]));

  return {
    name: NAME,
    version: VERSION,
    /**
     * With the counts in it: a member that has seen new partitions joins with other bytes, which is what makes the broker call all
     * together; and the leader needs no metadata of topics that it has perhaps no right to.
     */
    protocol: ({ topics }) => ({
      name: NAME,
      metadata: MemberMetadata.encode({
        version: VERSION,
        topics: [...topics],
        userData: Buffer.from(JSON.stringify(countsOf([...topics].sort()))),
      }),
    }),
    async assign({ members }) {
      const views = members.map(({ memberId, memberMetadata }) => {
        const { topics, userData } = MemberMetadata.decode(memberMetadata)!;
        return { memberId, topics, counts: countsIn(userData) };
      });
      // The leader's metadata is fresh, and what it sees more than a member holds for that one, too.
      const fresh = views.map((view) => ({
        ...view,
        counts: Object.fromEntries(
          view.topics.map((topic) => [topic, Math.max(view.counts[topic] ?? 0, countOf(topic))]),
        ),
      }));
      return [...shareOut(fresh)].map(([memberId, assignment]) => ({
        memberId,
        memberAssignment: MemberAssignment.encode({
          version: VERSION,
          assignment,
          userData: Buffer.alloc(0),
        }),
      }));
    },
  };
};

function countsIn(userData: Buffer): Record<string, number> {
  try {
    const counts: unknown = JSON.parse(userData.toString());
    return typeof counts === "object" && counts !== null ? (counts as Record<string, number>) : {};
  } catch {
    return {};
  }
}
