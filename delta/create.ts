/** Makes a table: version 0, put only if there is none. */

import { randomUUID } from "node:crypto";
import { LabError } from "../core/errors.ts";
import type { Add, Metadata, Txn } from "./actions.ts";
import { checkRequest, commitActions } from "./commit-actions.ts";
import { serializeCommit } from "./commit-file.ts";
import { listLog, newestVersion } from "./log-list.ts";
import { emptyState } from "./log-state.ts";
import { openTable, type TableOptions } from "./open.ts";
import { protocolFor } from "./protocol.ts";
import { putCommit } from "./put-commit.ts";
import { serializeSchema } from "./schema.ts";
import type { Store } from "./store/store.ts";
import type { CommitRequest, Snapshot, Table } from "./table.ts";
import type { StructType } from "./types.ts";

export type NewTable = {
  schema: StructType;
  partitionColumns?: readonly string[];
  /** Table properties, such as `delta.appendOnly`. */
  configuration?: Readonly<Record<string, string>>;
  name?: string;
  description?: string;
  /** Transactions and files that the first version carries already. */
  txns?: readonly Txn[];
  adds?: readonly Add[];
  operation?: string;
  /** Further fields of commitInfo. */
  info?: Record<string, unknown>;
};

/**
 * Reader version 1 and writer version 2 unless properties or column types need more. TABLE_EXISTS where version 0 is taken: the caller opens
 * it then. SCHEMA_MISMATCH, CONFIG_INVALID, UNSUPPORTED_FEATURE before anything is written.
 */
export async function createTable(
  store: Store,
  table: NewTable,
  signal: AbortSignal,
  options: TableOptions = {},
): Promise<Table> {
  const nowMs = (options.now ?? Date.now)();
  const metadata: Metadata = {
    id: randomUUID(),
    ...(table.name === undefined ? {} : { name: table.name }),
    ...(table.description === undefined ? {} : { description: table.description }),
    format: { provider: "parquet", options: {} },
    schemaString: serializeSchema(table.schema),
    partitionColumns: [...(table.partitionColumns ?? [])],
    configuration: { ...table.configuration },
    createdTime: nowMs,
  };
  const protocol = protocolFor(metadata);
  const base: Snapshot = nothing(store, table.schema, metadata);
  const request: CommitRequest = {
    readSnapshot: base,
    operation: table.operation ?? "CREATE TABLE",
    operationParameters: {
      partitionBy: JSON.stringify(metadata.partitionColumns),
      properties: JSON.stringify(metadata.configuration),
    },
    protocol,
    metadata,
    ...(table.txns ? { txns: table.txns } : {}),
    ...(table.adds ? { adds: table.adds } : {}),
    ...(table.info ? { info: table.info } : {}),
  };
  checkRequest(request, base, store.root);

  const outages = { ...options.outages, signal };
  if (newestVersion(await listLog(store, 0, signal)) !== undefined) throw exists(store);
  const txnId = randomUUID();
  const body = serializeCommit(commitActions(request, base, { nowMs, txnId, isNewTable: true }));
  const outcome = await putCommit(store, { version: 0, body, txnId }, outages);
  if (outcome.kind === "lost") throw exists(store);
  return openTable(store, signal, options);
}

/** What a table is before its first version. */
function nothing(store: Store, schema: StructType, metadata: Metadata): Snapshot {
  const { rows, timestampMs, txns, domains } = emptyState(store.root);
  return {
    version: -1,
    timestampMs,
    protocol: { minReaderVersion: 1, minWriterVersion: 2 },
    metadata: { ...metadata, configuration: {} },
    schema,
    partitionColumns: metadata.partitionColumns,
    numFiles: 0,
    sizeBytes: 0,
    files: () => rows.files(-1),
    filesWhere: () => rows.files(-1),
    newestFiles: () => [],
    tombstones: () => rows.tombstones(-1),
    txn: () => undefined,
    liveRows: () => 0n,
    txns: () => txns,
    domains: () => domains,
  };
}

function exists(store: Store): LabError {
  return new LabError("TABLE_EXISTS", `there is a Delta table at ${store.root} already`, {
    hint: "open it, or choose another place",
    details: { root: store.root },
  });
}
