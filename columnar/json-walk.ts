/** The walk over the bytes of JSON messages that appends what is plainly right to the vectors of a table's leaves (`assembly/json.ts`). */

import type { StructType } from "../delta/types.ts";
import type { Columns } from "./columns.ts";
import { messageNode, moduleNode, type Node } from "./json-nodes.ts";
import type { LeafVector } from "./leaf-vector.ts";

/** Messages one behind the other, with one byte behind each. */
export type MessageBytes = {
  readonly values: Uint8Array;
  valueStart(index: number): number;
  valueEnd(index: number): number;
};

export type JsonWalk = {
  /** The message as a tree, with the leaves in it. */
  readonly root: Node;
  /** Empties the leaves for so many messages. */
  begin(messages: number): void;
  /**
   * Appends a row for each message from `from` to before `to`, which are valid UTF-8, up to the first that is not plainly right: of that one nothing is
   * appended. Answers which it is, `to` where there is none.
   */
  append(messages: MessageBytes, from: number, to: number): number;
};

/** About as much as the processor's own memory holds beside the vectors' ends. */
const WINDOW_BYTES = 256 << 10;

/**
 * For messages of `schema`, whose leaves are `leaves` in schema order, voids left out. With `ignoreUnknown`, fields that the schema lacks are
 * passed over; else they are doubtful.
 */
export function createJsonWalk(
  columns: Columns,
  schema: StructType,
  leaves: readonly LeafVector[],
  { ignoreUnknown }: { ignoreUnknown: boolean },
): JsonWalk {
  const next = leaves.values();
  const root = messageNode(schema, () => next.next().value!);
  const node = moduleNode(columns, root);

  /** The messages that fit into a window: one at least. */
  function windowEnd(messages: MessageBytes, from: number, to: number): number {
    const limit = messages.valueStart(from) + WINDOW_BYTES;
    let end = from + 1;
    while (end < to && messages.valueEnd(end) < limit) end++;
    return end;
  }

  function appendWindow(messages: MessageBytes, from: number, end: number): number {
    const base = messages.valueStart(from);
    const size = messages.valueEnd(end - 1) + 1 - base;
    const ends = columns.inputFor(4 * (end - from) + size);
    const bytes = ends + 4 * (end - from);
    const { buffer } = columns.memory;
    const places = new Uint32Array(buffer, ends, end - from);
    for (let i = from; i < end; i++) places[i - from] = messages.valueEnd(i);
    new Uint8Array(buffer, bytes, size).set(messages.values.subarray(base, base + size));
    return from + columns.appendMessages(bytes, base, ends, end - from);
  }

  return {
    root,
    begin(messages) {
      for (const leaf of leaves) leaf.begin(leaf.leaf.maxRepetition === 0 ? messages : 0);
      columns.beginWalk(node, ignoreUnknown ? 1 : 0);
    },
    append(messages, from, to) {
      for (let at = from; at < to; ) {
        const end = windowEnd(messages, at, to);
        at = appendWindow(messages, at, end);
        if (at < end) return at;
      }
      return to;
    },
  };
}
