/** A replayed version as callers see it. */

import { LabError } from "../core/errors.ts";
import type { LogState } from "./log-state.ts";
import { checkReadable } from "./protocol.ts";
import { parseSchema } from "./schema.ts";
import type { Snapshot } from "./table.ts";

/**
 * The snapshot of a state; `previous` lends its parsed schema where the metadata is the same. UNSUPPORTED_FEATURE where the
 * table may not be read here.
 */
export function snapshotOf(state: LogState, previous?: Snapshot): Snapshot {
  const { protocol, metadata, version, rows } = state;
  if (!protocol || !metadata)
    throw new LabError(
      "CORRUPT_LOG",
      `version ${version} has no ${protocol ? "metaData" : "protocol"} action`,
    );
  checkReadable(protocol, metadata);
  const schema = previous?.metadata === metadata ? previous.schema : parseSchema(metadata.schemaString);
  return {
    version,
    timestampMs: state.timestampMs,
    protocol,
    metadata,
    schema,
    partitionColumns: metadata.partitionColumns,
    numFiles: state.numFiles,
    sizeBytes: state.sizeBytes,
    files: () => rows.files(version),
    filesWhere: (matches, mayHold, reaching) => rows.files(version, matches, mayHold, reaching),
    newestFiles: (count) => rows.newestFiles(version, count),
    tombstones: () => rows.tombstones(version),
    liveRows: () => rows.liveRows(version),
    txn: (appId) => state.txns.get(appId)?.version,
    txns: () => state.txns,
    domains: () => state.domains,
  };
}
