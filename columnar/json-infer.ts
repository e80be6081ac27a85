/** The schema that messages tell: only those are parsed that may tell something new, and a walk finds them. */

import { isUtf8 } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { StructType } from "../delta/types.ts";
import { inferStruct, nothingObserved, settledStruct } from "../engine/infer.ts";
import { observeMessage } from "../engine/json-evolve.ts";
import { tellMixed } from "../engine/mixed-columns.ts";
import type { RawBatch } from "../engine/raw-batch.ts";
import type { Columns } from "./columns.ts";
import { messageNode, type Node } from "./json-nodes.ts";
import { createJsonWalk } from "./json-walk.ts";
import { LeafVector } from "./leaf-vector.ts";
import { physicalOf } from "./parquet-schema.ts";

/** So many messages are parsed before the first walk, and before another one by the schema that they may have changed. */
const PARSED = 64;
/** Messages walked before other work of the process gets its turn. */
const TURN = 4096;
/** Whole numbers of more digits may be beyond what a double carries, which matters where a fraction is met. */
const PLAIN_DIGITS = 15;

/** As the engine's `inferMessages` gives it. */
export async function inferByWalk(
  columns: Columns,
  batch: RawBatch,
  signal: AbortSignal,
): Promise<StructType | null> {
  const seen = nothingObserved();
  const isText = isUtf8(batch.values);
  let walk: SettledWalk | undefined;
  let parsed = 0;
  try {
    for (let at = 0; at < batch.length; ) {
      if (isText && parsed > 0 && parsed % PARSED === 0) walk = walkOf(columns, settledStruct(seen), walk);
      const to = Math.min(at + TURN, batch.length);
      const behind = walk === undefined ? at : walk.pass(batch, at, to);
      at = to;
      if (behind < to) {
        observeMessage(seen, batch.value(behind));
        at = behind + 1;
        parsed++;
      }
      if (behind === to || parsed % PARSED === 0) await nextTurn();
      signal.throwIfAborted();
    }
    const schema = inferStruct(seen);
    return schema && (await tellMixed(schema, batch, signal));
  } finally {
    walk?.close();
  }
}

type SettledWalk = {
  schema: string;
  /** The first message from `from` on that is not plainly one of the schema; `to` where there is none before it. */
  pass(batch: RawBatch, from: number, to: number): number;
  close(): void;
};

function walkOf(columns: Columns, schema: StructType, before: SettledWalk | undefined): SettledWalk {
  const text = JSON.stringify(schema);
  if (before?.schema === text) return before;
  before?.close();
  const leaves: LeafVector[] = [];
  const root = messageNode(schema, (type) => {
    const leaf = new LeafVector(columns, {
      ...{ parquetPath: [], statsPath: undefined, type: type as "string", physical: physicalOf(type)! },
      ...{ maxDefinition: 1, maxRepetition: 0 },
    });
    leaves.push(leaf);
    return leaf;
  });
  onlyWhatSettles(root);
  const walk = createJsonWalk(columns, root, { ignoreUnknown: false });
  walk.begin(0);
  return {
    schema: text,
    pass(batch, from, to) {
      const behind = walk.append(batch, from, to);
      // What was appended is of no use.
      if (behind === to) walk.begin(0);
      return behind;
    },
    close() {
      walk.close();
      for (const leaf of leaves) leaf.close();
    },
  };
}

/** A number where the others have texts changes no type, but has to be told (`tellMixed`). */
function onlyWhatSettles(node: Node): void {
  node.digits = Math.min(node.digits, PLAIN_DIGITS);
  if (node.kind === "STRING") node.flag = true;
  for (const { node: below } of node.fields) onlyWhatSettles(below);
  if (node.element) onlyWhatSettles(node.element);
}
