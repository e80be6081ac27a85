/**
 * Rows that a route sends elsewhere (contracts.md, "lab.yaml"). The stream's table names each routed table before it is made, so that the
 * next start finds them all; they are committed first, each with its own positions, and only then does the stream's table settle what they
 * hold.
 */

import { LabError } from "../core/errors.ts";
import type { Add, Metadata } from "../delta/actions.ts";
import { serializeSchema } from "../delta/schema.ts";
import { mergeSchema, mergeSchemas } from "../delta/schema-merge.ts";
import { widenOf } from "../delta/type-widening.ts";
import type { StructField, StructType } from "../delta/types.ts";
import type { EncodedFile } from "../engine/encoder.ts";
import { KAFKA_FIELD } from "../engine/kafka-column.ts";
import { sumCounts } from "./chunk.ts";
import type { Opened } from "./destination.ts";
import {
  movedElsewhere,
  outlast,
  overtakenSince,
  type PublishInput,
  type Rejected,
} from "./publish-input.ts";
import { ROUTES_PROPERTY, type Route, routesOf, withRoutes } from "./routed-tables.ts";
import { labInfo, rowsRequest } from "./rows-request.ts";

/** What goes to one routed table: files that stand in its store. `opened` becomes what the commit leaves. */
export type Routed = { route: Route; opened: Opened; adds: readonly Add[]; files: readonly EncodedFile[] };

/** How many routed tables are committed at once. */
const AT_ONCE = 8;

/** The routes of these files, each once. */
export function routesOfFiles(files: readonly EncodedFile[]): Route[] {
  return [...new Set(files.flatMap(({ route }) => (route === undefined ? [] : [route])))];
}

/**
 * Opens the tables of these routes, makes those that are missing, and names in the stream's table those that it does not know before any
 * of that. REJECTED where another writer moved a position of ours in one of them.
 */
export async function nameRoutes(
  input: PublishInput,
  rows: Opened,
  routes: readonly Route[],
): Promise<{ kind: "named"; rows: Opened; tables: { route: Route; opened: Opened }[] } | Rejected> {
  const { signal, destination } = input;
  const schema = input.chunks.findLast((chunk) => chunk.evolvedSchema)?.evolvedSchema ?? rows.snapshot.schema;
  const known = routesOf(rows.snapshot);
  const fresh = routes.filter((route) => !known.includes(route));
  let base = rows;
  if (fresh.length > 0) {
    const metadata = withRoutes(rows.snapshot.metadata, fresh);
    const result = await rows.table.commit(
      {
        readSnapshot: rows.snapshot,
        operation: "SET TBLPROPERTIES",
        operationParameters: {
          properties: JSON.stringify({ [ROUTES_PROPERTY]: metadata.configuration[ROUTES_PROPERTY] }),
        },
        metadata,
      },
      signal,
    );
    if (result.kind === "conflict")
      return { kind: "rejected", reason: result.reason, message: result.message };
    base = { table: rows.table, snapshot: result.snapshot };
  }
  const tables: { route: Route; opened: Opened }[] = [];
  for (const route of routes) {
    const opened = await outlast(input, () => destination.routed.open(route, base.snapshot, schema, signal));
    const moved = movedElsewhere(input, opened, input.appIdForm, (partition, stored) =>
      isKnown(input, route, partition, stored),
    );
    if (moved) return moved;
    tables.push({ route, opened });
  }
  return { kind: "named", rows: base, tables };
}

/** A routed table is behind the stream's table where it got no rows, and ahead only as it was seen when positions were read. */
function isKnown(input: PublishInput, route: Route, partition: number, stored: bigint | undefined): boolean {
  if (stored === undefined || stored === input.aheadOf(route, partition)) return true;
  const settled = input.owned.get(partition);
  return settled !== undefined && stored <= settled;
}

/** Commits to each of the tables; the first one that is lost is told, and the others may have their rows: the next start knows. */
export async function commitRouted(
  input: PublishInput,
  rows: Opened,
  routed: readonly Routed[],
  startedMs: number,
): Promise<Rejected | null> {
  const { signal, destination, onStep } = input;
  // Before rows of an overtaken worker stand anywhere.
  const late = await overtakenSince(input, rows);
  if (late) return late;

  async function commit(one: Routed): Promise<Rejected | null> {
    const { table } = one.opened;
    const schema =
      input.chunks.findLast((chunk) => chunk.evolvedSchema)?.evolvedSchema ?? rows.snapshot.schema;
    const metadata = grownMetadata(one.opened, schema);
    const request = rowsRequest(input, one.opened, {
      adds: one.adds,
      rows: one.files.reduce((sum, file) => sum + file.rows, 0),
      letters: 0,
      metadata,
      startedMs,
      lab: { ...labInfo(input, new Map()), moved: undefined, audit: undefined, partitions: rangesOf(input) },
      isKept: (partition, version) => (input.heldBy(one.route, partition) ?? -1n) > version,
    });
    const result = await table.commit(request, signal);
    if (result.kind === "conflict")
      return { kind: "rejected", reason: result.reason, message: result.message };
    one.opened = { table, snapshot: result.snapshot };
    destination.routed.keep(one.route, one.opened);
    onStep("after-route");
    return null;
  }

  for (let start = 0; start < routed.length; start += AT_ONCE) {
    const results = await Promise.all(routed.slice(start, start + AT_ONCE).map(commit));
    const lost = results.find((result) => result !== null);
    if (lost) return lost;
  }
  return null;
}

/** Metadata of a routed table that holds what `schema` does, too; undefined where it does. SCHEMA_MISMATCH where it cannot. */
export function grownMetadata({ table, snapshot }: Opened, schema: StructType): Metadata | undefined {
  const { protocol, metadata } = snapshot;
  const widen = widenOf(protocol, metadata, snapshot.schema);
  // Files of a narrower type than the column's are for tables that say so.
  if (!widen) mergeSchemas(snapshot.schema, schema);
  const { schema: merged, clashes } = mergeSchema(snapshot.schema, schema, { widen });
  const [clash] = clashes;
  if (clash)
    throw new LabError(
      "SCHEMA_MISMATCH",
      `column ${clash.path} is ${clash.table} in ${table.store.root}, and ${clash.incoming} in the rows that are routed there`,
      { hint: "give it the type that it has in the stream's table, or move this table away" },
    );
  if (merged === snapshot.schema) return undefined;
  const isKafka = ({ name }: StructField) => name === KAFKA_FIELD.name;
  const columns = merged.fields.filter((field) => !isKafka(field));
  const fields = [...columns, ...merged.fields.filter(isKafka)];
  return { ...metadata, schemaString: serializeSchema({ type: "struct", fields }) };
}

/** How far each partition is settled with this; how many of its rows came here is told by the rows alone. */
function rangesOf({ chunks, options }: PublishInput): object[] {
  return [...sumCounts(chunks)].map(([partition, { first, last }]) => ({
    ...{ topic: options.topic, partition },
    ...{ first: first.toString(), last: last.toString() },
  }));
}
