/** Changes as rows of the table's schema in a local Parquet file, typed as the table's are: deletes are rows of their key and `_cdc` alone. */

import { rm } from "node:fs/promises";
import type { Snapshot } from "../../delta/table.ts";
import type { StructType } from "../../delta/types.ts";
import type { BadRecord, EncodedFile, EncodePlan, Encoder } from "../../engine/encoder.ts";
import { KAFKA_FIELD } from "../../engine/kafka-column.ts";
import { derivedOf } from "../../engine/partitioning.ts";
import { createRawBatch, type RawBatch } from "../../engine/raw-batch.ts";
import { wideningFor } from "../../engine/widening.ts";
import type { Change } from "../change.ts";
import { CDC_FIELD, cdcJson } from "./cdc-field.ts";
import type { Demands } from "./demands.ts";

export type Staged = {
  /** Its rows in the order of `places`; null where there are none. */
  file: EncodedFile | null;
  /** For each row of the file the change it is of, by its index. */
  places: readonly number[];
  bad: readonly BadRecord[];
  /** What the table demands has yet to be asked of the rows, once they have what they take of stored ones; null where it was. */
  demands: Demands | null;
  /** The schema of the rows: the one asked for, or what it grew to. */
  schema: StructType;
  /** Removes the file where it is still there. */
  remove(): Promise<void>;
};

export type StageOptions = {
  encoder: Encoder;
  snapshot: Snapshot;
  schema: StructType;
  /** Of the table. */
  demands: Demands | null;
  onUnknownField: EncodePlan["onUnknownField"];
  topic: string;
  signal: AbortSignal;
};

/** One file for all partitions: that of a key's old row is known only when it is found. */
export async function stage(changes: readonly Change[], options: StageOptions): Promise<Staged> {
  const { encoder, snapshot, schema: asked, onUnknownField, topic, signal } = options;
  const demands = changes.some(takesOfStored) ? options.demands : null;
  const { schema, configuration } = demands?.eased(asked) ?? {
    schema: asked,
    configuration: snapshot.metadata.configuration,
  };
  const encoded = await encoder.encode(
    batchOf(demands === null ? changes : changes.map(asItWas), topic),
    {
      format: "json",
      schema,
      partitionColumns: [],
      metadata: schema.fields.some(({ name }) => name === KAFKA_FIELD.name),
      keepRaw: false,
      onUnknownField,
      widen: wideningFor(snapshot),
      derived: derivedOf(schema, snapshot.partitionColumns),
      configuration,
    },
    signal,
  );
  const bad = new Set(encoded.bad.map(({ index }) => index));
  const file = encoded.files[0] ?? null;
  return {
    file,
    places: [...changes.keys()].filter((index) => !bad.has(index)),
    bad: encoded.bad,
    demands,
    schema: schemaOf(encoded.evolvedSchema, asked, demands),
    remove: async () => {
      if (file !== null) await rm(file.file, { force: true });
    },
  };
}

/** A delete with the values of the row that it removes, where they are told. */
const asItWas = (change: Change): Change =>
  change.was === undefined ? change : { ...change, row: change.was };

/** Whether the row of a change may need values of the one it replaces. */
const takesOfStored = ({ kind, absent, borrowed }: Change) =>
  kind === "delete" || absent.length > 0 || (borrowed?.length ?? 0) > 0;

function schemaOf(grown: StructType | undefined, asked: StructType, demands: Demands | null): StructType {
  if (grown === undefined) return asked;
  return demands === null ? grown : demands.restored(grown);
}

function batchOf(changes: readonly Change[], topic: string): RawBatch {
  const tails = changes.map(tailOf);
  const most = changes.reduce((sum, { row }, i) => sum + row.length + 3 * tails[i]!.length, 0);
  const bytes = Buffer.allocUnsafe(most);
  const batch = createRawBatch({ capacityBytes: most });
  let start = 0;
  for (const [i, change] of changes.entries()) {
    const kept = endOfRow(change.row);
    bytes.set(kept === change.row.length ? change.row : change.row.subarray(0, kept), start);
    const end = start + kept + bytes.write(tails[i]!, start + kept);
    batch.append({
      topic,
      partition: change.place.partition,
      offset: change.place.offset,
      generation: change.place.generation,
      timestampMs: change.timestampMs,
      timestampType: "create",
      key: null,
      headers: NO_HEADERS,
      value: bytes.subarray(start, end),
    });
    start = end;
  }
  return batch;
}

const NO_HEADERS: readonly [] = [];
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** What follows the members of a row: `_cdc` as its last one. */
function tailOf(change: Change): string {
  const { row } = change;
  let last = endOfRow(row) - 1;
  while (last > 0 && row[last]! <= 0x20) last--;
  const comma = row[last] === OPEN_BRACE ? "" : ",";
  const cdc = cdcJson(change, { isDeleted: change.kind === "delete", missing: change.absent });
  return `${comma}"${CDC_FIELD.name}":${cdc}}`;
}

/** Where the brace that closes the row stands. */
function endOfRow(row: Uint8Array): number {
  let end = row.length - 1;
  while (end > 0 && row[end] !== CLOSE_BRACE) end--;
  return end;
}
