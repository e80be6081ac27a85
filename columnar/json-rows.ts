/** The messages of a batch as rows in vectors, and those that are none as letters, each with the engine's own reasons. */

import { isUtf8 } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { StructType } from "../delta/types.ts";
import { BAD_TIMESTAMP, isStorableTime } from "../engine/encode-apart.ts";
import type { BadRecord, EncodePlan } from "../engine/encoder.ts";
import { evolveSchema } from "../engine/json-evolve.ts";
import { fitMessage, parseMessage } from "../engine/json-exact.ts";
import { withoutKafka } from "../engine/kafka-column.ts";
import type { RawBatch } from "../engine/raw-batch.ts";
import { addObject } from "./json-object.ts";
import type { TableBuilder } from "./table-builder.ts";

/** How many messages are walked before other work of the process gets its turn. */
const TURN = 4096;
/** The same for those that are parsed. */
const EXACT_TURN = 256;

export type JsonRows = {
  /** The plan's own, or what it became. */
  schema: StructType;
  /** Holds the rows; but for `_kafka`, whose vectors are not filled. */
  table: TableBuilder;
  /** Place in the batch of each row, in order. */
  places: Uint32Array;
  /** In order. */
  bad: BadRecord[];
};

/**
 * Rows of the plan's schema, or of what it becomes where messages bring new fields or need wider types and the plan lets them: then all are read
 * anew. `builderFor` gives the vectors for a schema; undefined where there are none, which is the answer then.
 */
export async function readJsonRows(
  batch: RawBatch,
  plan: Pick<EncodePlan, "schema" | "onUnknownField" | "widen">,
  builderFor: (schema: StructType) => TableBuilder | undefined,
  signal: AbortSignal,
): Promise<JsonRows | undefined> {
  const isGrowing = plan.onUnknownField === "add";
  const table = builderFor(plan.schema);
  if (table === undefined) return undefined;
  const { misfits, ...rows } = { schema: plan.schema, ...(await readRows(batch, table, plan, signal)) };
  if (!isGrowing || misfits.length === 0) return rows;
  const schema = await evolveSchema(batch, misfits, plan, signal);
  if (schema === plan.schema) return rows;
  const grown = builderFor(schema);
  return grown && { schema, ...(await readRows(batch, grown, plan, signal)) };
}

type ReadRows = Omit<JsonRows, "schema"> & {
  /** Messages that are JSON objects, but no rows of the schema. */
  misfits: number[];
};

async function readRows(
  batch: RawBatch,
  table: TableBuilder,
  plan: Pick<EncodePlan, "onUnknownField">,
  signal: AbortSignal,
): Promise<ReadRows> {
  const { messages } = table;
  const isDoubtful = doubtful(batch);
  const places = new Uint32Array(batch.length);
  const bad: BadRecord[] = [];
  const misfits: number[] = [];
  const schema = withoutKafka(table.schema);
  const options = { ignoreUnknown: plan.onUnknownField === "ignore" };
  let rows = 0;
  let exactCount = 0;

  /** The exact way of a message that is not plainly right. */
  function readExactly(index: number): void {
    const parsed = parseMessage(batch.value(index));
    if (parsed.kind === "fault") {
      bad.push({ index, ...parsed.fault });
      return;
    }
    const fitted = fitMessage(parsed.object, schema, options);
    if (fitted.kind === "fault") {
      bad.push({ index, ...fitted.fault });
      misfits.push(index);
      return;
    }
    addObject(messages.root, parsed.object, schema);
    places[rows++] = index;
  }

  /** The first message from `from` on that is not for the walk; `to` where there is none before it. */
  function stop(from: number, to: number): number {
    if (isDoubtful === undefined) return to;
    let at = from;
    while (at < to && !isDoubtful(at)) at++;
    return at;
  }

  messages.begin(batch.length);
  for (let at = 0, turn = TURN; at < batch.length; ) {
    const to = stop(at, Math.min(turn, batch.length));
    const behind = to > at ? messages.append(batch, at, to) : at;
    for (; at < behind; at++) places[rows++] = at;
    if (at === turn) {
      turn += TURN;
      await nextTurn();
      signal.throwIfAborted();
    } else if (at < batch.length) {
      if (isStorableTime(batch.timestampMs(at))) readExactly(at);
      else bad.push({ index: at, ...BAD_TIMESTAMP });
      at++;
      if (++exactCount % EXACT_TURN === 0) await nextTurn();
    }
  }
  return { table, places: places.subarray(0, rows), bad, misfits };
}

/** Tells which messages the walk must not see, by what it takes for granted: that they are UTF-8, and rows can be stored. Undefined where none. */
function doubtful(batch: RawBatch): ((index: number) => boolean) | undefined {
  const { values, columns } = batch;
  if (columns.timestampsMs.every(isStorableTime) && isUtf8(values)) return undefined;
  return (index) =>
    !isStorableTime(batch.timestampMs(index)) ||
    !isUtf8(values.subarray(batch.valueStart(index), batch.valueEnd(index)));
}
