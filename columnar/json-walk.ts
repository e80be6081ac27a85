/** The walk over the bytes of JSON messages that appends what is plainly right to the vectors of a table's leaves (`assembly/json.ts`). */

import type { RawBatch } from "../engine/raw-batch.ts";
import type { Columns } from "./columns.ts";
import { moduleNode, type Node } from "./json-nodes.ts";

export type JsonWalk = {
  /** The message as a tree, with the leaves in it. */
  readonly root: Node;
  /** Empties the leaves for so many messages: those of one batch, which is read before anything else asks the module for input. */
  begin(messages: number): void;
  /**
   * Appends a row for each message from `from` to before `to`, which are valid UTF-8, up to the first that is not plainly right: of that one nothing is
   * appended. Answers which it is, `to` where there is none.
   */
  append(messages: RawBatch, from: number, to: number): number;
  /** Lets its memory go; that of the leaves is its owner's. */
  close(): void;
};

/** About as much as the processor's own memory holds beside the vectors' ends. */
const WINDOW_BYTES = 256 << 10;

/** For messages as `root` says. With `ignoreUnknown`, fields that it lacks are passed over; else they are doubtful. */
export function createJsonWalk(
  columns: Columns,
  root: Node,
  { ignoreUnknown }: { ignoreUnknown: boolean },
): JsonWalk {
  const node = moduleNode(columns, root);

  /** The messages that lie in the module's memory, and where they do. */
  let loaded = { from: 0, end: 0, bytes: 0, ends: 0 };

  /** Loads as many messages as fit into a window: one at least. */
  function load(messages: RawBatch, from: number): void {
    const start = messages.valueStart(from);
    let end = from + 1;
    while (end < messages.length && messages.valueEnd(end) < start + WINDOW_BYTES) end++;
    const size = messages.valueEnd(end - 1) + 1 - start;
    const ends = columns.inputFor(4 * (end - from) + size);
    const bytes = ends + 4 * (end - from);
    const { buffer } = columns.memory;
    new Uint32Array(buffer, ends, end - from).set(messages.columns.valueEnds.subarray(from, end));
    new Uint8Array(buffer, bytes, size).set(messages.values.subarray(start, start + size));
    loaded = { from, end, bytes: bytes - start, ends: ends - 4 * from };
  }

  return {
    root,
    begin(messages) {
      loaded = { from: 0, end: 0, bytes: 0, ends: 0 };
      for (const leaf of root.leaves) leaf.begin(leaf.leaf.maxRepetition === 0 ? messages : 0);
      columns.beginWalk(node, ignoreUnknown ? 1 : 0);
    },
    append(messages, from, to) {
      for (let at = from; at < to; ) {
        if (at < loaded.from || at >= loaded.end) load(messages, at);
        const { bytes, ends, end } = loaded;
        const start = messages.valueStart(at);
        const count = Math.min(to, end) - at;
        const appended = columns.appendMessages(bytes + start, start, ends + 4 * at, count);
        at += appended;
        if (appended < count) return at;
      }
      return to;
    },
    close: () => columns.freeNode(node),
  };
}
