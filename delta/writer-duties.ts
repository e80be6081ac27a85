/** What a table asks of whoever adds rows to it, and whether a commit may be made without it (PROTOCOL.md, "Writer Requirements"). */

import { LabError } from "../core/errors.ts";
import type { Add, Metadata, Protocol } from "./actions.ts";
import { checkClusteringStats, clusteringColumns } from "./clustering.ts";
import { CHECK_PREFIX } from "./constraints.ts";
import { parseJson } from "./json.ts";
import { unsupported, writerFeaturesOf } from "./protocol.ts";
import { checkRowTracking } from "./row-tracking.ts";
import { isStruct, parseSchema } from "./schema.ts";
import { placesOf } from "./schema-places.ts";
import type { CommitRequest, Snapshot } from "./table.ts";
import type { StructType } from "./types.ts";

/**
 * A duty by the name of its writer feature. `checkConstraints`, `invariants`: each row fulfils `constraintsOf`. `generatedColumns`: each value is
 * what its expression gives. `identityColumns`: values are given out and the high water mark is moved. `allowColumnDefaults`: columns
 * that were left out have their default. `columnMapping`: files have physical names and field ids, partition values and statistics
 * physical names.
 */
export type Duty = keyof typeof DUTIES;

/** Whether a duty is one of rows; else it is one of files, whatever rows they hold. */
const DUTIES = {
  checkConstraints: true,
  invariants: true,
  generatedColumns: true,
  identityColumns: true,
  allowColumnDefaults: true,
  columnMapping: false,
};

/** For rows that are copied from the table as they are. */
export const UNCHANGED_ROWS: ReadonlySet<Duty> = new Set(
  (Object.keys(DUTIES) as Duty[]).filter((duty) => DUTIES[duty]),
);

/** For files that were the table's before: a restore. */
export const UNCHANGED_FILES: ReadonlySet<Duty> = new Set(Object.keys(DUTIES) as Duty[]);

/** What this table asks of new rows and files, each with the place that asks. */
export function dutiesOf(protocol: Protocol, metadata: Metadata): Map<Duty, string> {
  const features = writerFeaturesOf(protocol);
  const duties = new Map<Duty, string>();
  const note = (duty: Duty, where: string) => {
    if (features.has(duty) && !duties.has(duty)) duties.set(duty, where);
  };
  const mode = mappingMode(metadata);
  if (mode !== "none") note("columnMapping", `delta.columnMapping.mode = ${mode}`);
  for (const key of Object.keys(metadata.configuration))
    if (key.startsWith(CHECK_PREFIX)) note("checkConstraints", key);
  for (const place of placesOf(parseSchema(metadata.schemaString)))
    for (const [key, duty] of FIELD_DUTIES)
      if (key in place.metadata) note(duty, `column ${place.path.join(".")}`);
  return duties;
}

const FIELD_DUTIES: readonly (readonly [key: string, duty: Duty])[] = [
  ["delta.invariants", "invariants"],
  ["delta.generationExpression", "generatedColumns"],
  ["delta.identity.start", "identityColumns"],
  ["CURRENT_DEFAULT", "allowColumnDefaults"],
];

/**
 * UNSUPPORTED_FEATURE, naming the feature and the place that asks for it, where a commit would add what nobody has seen to. Commits without new rows
 * (compaction, removal of whole files, metadata) need no promise for rows. CONSTRAINT_VIOLATED where a file's own statistics count nulls in
 * a column that takes none.
 */
export function checkDuties(request: CommitRequest, base: Snapshot): void {
  const protocol = request.protocol ?? base.protocol;
  const metadata = request.metadata ?? base.metadata;
  const files = request.adds ?? [];
  const fresh = files.filter((add) => add.dataChange);
  const changes = request.cdcs ?? [];
  requirePromised(protocol, metadata, request.enforced, (isOfRows) =>
    isOfRows ? fresh.length > 0 : files.length + changes.length > 0,
  );
  if (request.metadata) checkMapping(request.metadata, base.metadata);
  checkRowTracking(request, base);
  if (writerFeaturesOf(protocol).has("clustering"))
    checkClusteringStats(files, clusteringColumns(base.domains()));
  checkNulls(fresh, request.metadata ? parseSchema(metadata.schemaString) : base.schema);
}

/**
 * UNSUPPORTED_FEATURE, naming the feature and the place that asks for it, where rows or files are added without what the table asks of them: to be
 * known before any is written. `isAsked` says which kind of duty counts.
 */
export function requirePromised(
  protocol: Protocol,
  metadata: Metadata,
  promised: ReadonlySet<Duty> | undefined,
  isAsked: (isOfRows: boolean) => boolean = () => true,
): void {
  for (const [duty, where] of dutiesOf(protocol, metadata))
    if (isAsked(DUTIES[duty]) && !promised?.has(duty)) throw unsupported(`${duty} (${where})`, "written");
}

/** Ids and physical names of columns are given out by other engines only. */
function checkMapping(metadata: Metadata, before: Metadata): void {
  const mode = mappingMode(metadata);
  if (mode !== mappingMode(before))
    throw unsupported(`columnMapping (setting delta.columnMapping.mode = ${mode})`, "written");
  if (mode !== "none" && metadata.schemaString !== before.schemaString)
    throw unsupported("columnMapping (a change of the schema)", "written");
}

export function mappingMode(metadata: Metadata): string {
  return metadata.configuration["delta.columnMapping.mode"] ?? "none";
}

function checkNulls(adds: readonly Add[], schema: StructType): void {
  const columns = [...strictColumns(schema)];
  if (columns.length === 0) return;
  for (const add of adds) {
    // Statistics of a file with a deletion vector count rows that are gone.
    if (add.deletionVector) continue;
    const { nullCount } = parseJson(add.stats ?? "{}") as { nullCount?: Record<string, unknown> };
    for (const column of columns) {
      const isNull = column.length === 1 && add.partitionValues[column[0]!] === null;
      const count = column.reduce<unknown>(
        (at, name) => (at as Record<string, unknown> | undefined)?.[name],
        nullCount,
      );
      if (isNull || Number(count ?? 0) > 0)
        throw new LabError(
          "CONSTRAINT_VIOLATED",
          `column ${column.join(".")} takes no nulls, and there are some in ${add.path}`,
          { details: { column: column.join("."), path: add.path } },
        );
    }
  }
}

/** Leaf columns that are not null whatever the row: neither they nor what they stand in may be null. */
function* strictColumns(schema: StructType, path: readonly string[] = []): Generator<readonly string[]> {
  for (const field of schema.fields) {
    if (field.nullable) continue;
    const here = [...path, field.name];
    if (isStruct(field.type)) yield* strictColumns(field.type, here);
    else yield here;
  }
}
