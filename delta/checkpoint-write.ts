/** Builds the Parquet bytes of a checkpoint or of a sidecar of one (PROTOCOL.md, "Checkpoint Schema"). */

import { makeData, RecordBatch, Schema, Struct, Table, tableToIPC } from "apache-arrow";
import {
  Compression,
  Table as ParquetTable,
  transformParquetStream,
  WriterPropertiesBuilder,
} from "parquet-wasm";
import type {
  Action,
  Add,
  DeletionVector,
  DomainMetadata,
  Metadata,
  Protocol,
  Remove,
  Txn,
} from "./actions.ts";
import { bool, fieldsOf, int32, int64, stringMap, strings, struct, utf8 } from "./arrow-columns.ts";
import { typedColumns } from "./checkpoint-typed.ts";
import type { StatsTable } from "./stats-columns.ts";

/** Rows encoded at once: bounds the memory of a checkpoint of millions of files. */
const WINDOW = 16_384;
/** Rows that a reader can decode by themselves; the encoder holds them until they are all there. */
const ROW_GROUP = 4 * WINDOW;

/** Bytes that a reader has to unpack for one value, about, and rows after which the encoder looks whether a page is full. */
const PAGE = 2 ** 18;
const BATCH = 256;
/** Bytes: enough for the values of thousands of partitions; for paths and sizes, which all differ, a larger one only costs memory. */
const DICTIONARY = 2 ** 16;

/** How the statistics of files are written: as text, and as columns typed like those of `asColumnsOf`. */
export type StatsForm = { asJson: boolean; asColumnsOf?: StatsTable };

/** The file's bytes and how many rows it has. `actions` is read lazily, once. */
export async function encodeCheckpoint(
  actions: Iterable<Action>,
  stats: StatsForm = { asJson: true },
): Promise<{ bytes: Uint8Array; rows: number }> {
  const windows = windowsOf(actions);
  let rows = 0;
  const batches = new ReadableStream({
    pull(controller) {
      const next = windows.next();
      if (next.done) return controller.close();
      rows += next.value.length;
      const table = toParquetTable(next.value, stats);
      for (const batch of table.recordBatches()) controller.enqueue(batch);
      // Outside of the garbage collector's sight: left to it, a large checkpoint would pile up there whole.
      table.free();
    },
  });
  const properties = new WriterPropertiesBuilder()
    .setCompression(Compression.SNAPPY)
    .setMaxRowGroupSize(ROW_GROUP)
    .setDataPageSizeLimit(PAGE)
    .setDictionaryPageSizeLimit(DICTIONARY)
    .setWriteBatchSize(BATCH)
    .setCreatedBy("delta-stream-lab version 0.1.0 (build 0)")
    .build();
  const chunks: Uint8Array[] = [];
  const encoded = await transformParquetStream(batches, properties);
  for await (const chunk of encoded as unknown as AsyncIterable<Uint8Array>) chunks.push(chunk);
  return { bytes: Buffer.concat(chunks), rows };
}

function* windowsOf(actions: Iterable<Action>): Generator<Action[]> {
  let window: Action[] = [];
  for (const action of actions) {
    if (window.push(action) < WINDOW) continue;
    yield window;
    window = [];
  }
  if (window.length > 0) yield window;
}

/** One row per action, exactly one of its columns not null. */
function toParquetTable(actions: readonly Action[], stats: StatsForm): ParquetTable {
  const pick = <T>(kind: string): (T | undefined)[] =>
    actions.map((action) => (action as Record<string, unknown>)[kind] as T | undefined);
  const columns = {
    txn: txnColumn(pick("txn")),
    add: addColumn(pick("add"), stats),
    remove: removeColumn(pick("remove")),
    metaData: metadataColumn(pick("metaData")),
    protocol: protocolColumn(pick("protocol")),
    domainMetadata: domainColumn(pick("domainMetadata")),
  };
  const schema = new Schema(fieldsOf(columns));
  const data = makeData({
    type: new Struct(schema.fields),
    length: actions.length,
    nullCount: 0,
    children: Object.values(columns),
  });
  return ParquetTable.fromIPCStream(tableToIPC(new Table(schema, [new RecordBatch(schema, data)]), "stream"));
}

function txnColumn(txns: (Txn | undefined)[]) {
  return struct(txns, {
    appId: utf8(txns.map((txn) => txn?.appId)),
    version: int64(txns.map((txn) => txn?.version)),
    lastUpdated: int64(txns.map((txn) => txn?.lastUpdated)),
  });
}

function addColumn(adds: (Add | undefined)[], { asJson, asColumnsOf }: StatsForm) {
  return struct(adds, {
    path: utf8(adds.map((add) => add?.path)),
    partitionValues: stringMap(adds.map((add) => add?.partitionValues)),
    size: int64(adds.map((add) => add?.size)),
    modificationTime: int64(adds.map((add) => add?.modificationTime)),
    dataChange: bool(adds.map((add) => (add ? false : undefined))),
    ...(asJson ? { stats: utf8(adds.map((add) => add?.stats)) } : {}),
    ...(asColumnsOf ? typedColumns(adds, asColumnsOf) : {}),
    tags: stringMap(adds.map((add) => add?.tags)),
    ...fileColumns(adds),
    clusteringProvider: utf8(adds.map((add) => add?.clusteringProvider)),
  });
}

function removeColumn(removes: (Remove | undefined)[]) {
  return struct(removes, {
    path: utf8(removes.map((remove) => remove?.path)),
    deletionTimestamp: int64(removes.map((remove) => remove?.deletionTimestamp)),
    dataChange: bool(removes.map((remove) => (remove ? false : undefined))),
    extendedFileMetadata: bool(removes.map((remove) => remove?.extendedFileMetadata)),
    partitionValues: stringMap(removes.map((remove) => remove?.partitionValues)),
    size: int64(removes.map((remove) => remove?.size)),
    ...fileColumns(removes),
  });
}

function fileColumns(files: (Add | Remove | undefined)[]) {
  const vectors: (DeletionVector | undefined)[] = files.map((file) => file?.deletionVector);
  return {
    deletionVector: struct(vectors, {
      storageType: utf8(vectors.map((vector) => vector?.storageType)),
      pathOrInlineDv: utf8(vectors.map((vector) => vector?.pathOrInlineDv)),
      offset: int32(vectors.map((vector) => vector?.offset)),
      sizeInBytes: int32(vectors.map((vector) => vector?.sizeInBytes)),
      cardinality: int64(vectors.map((vector) => vector?.cardinality)),
    }),
    baseRowId: int64(files.map((file) => file?.baseRowId)),
    defaultRowCommitVersion: int64(files.map((file) => file?.defaultRowCommitVersion)),
  };
}

function metadataColumn(metadatas: (Metadata | undefined)[]) {
  const formats = metadatas.map((metadata) => metadata?.format);
  return struct(metadatas, {
    id: utf8(metadatas.map((metadata) => metadata?.id)),
    name: utf8(metadatas.map((metadata) => metadata?.name)),
    description: utf8(metadatas.map((metadata) => metadata?.description)),
    format: struct(formats, {
      provider: utf8(formats.map((format) => format?.provider)),
      options: stringMap(formats.map((format) => format?.options)),
    }),
    schemaString: utf8(metadatas.map((metadata) => metadata?.schemaString)),
    partitionColumns: strings(metadatas.map((metadata) => metadata?.partitionColumns)),
    configuration: stringMap(metadatas.map((metadata) => metadata?.configuration)),
    createdTime: int64(metadatas.map((metadata) => metadata?.createdTime)),
  });
}

/** Feature lists are null, not empty, where the versions have none. */
function protocolColumn(protocols: (Protocol | undefined)[]) {
  return struct(protocols, {
    minReaderVersion: int32(protocols.map((protocol) => protocol?.minReaderVersion)),
    minWriterVersion: int32(protocols.map((protocol) => protocol?.minWriterVersion)),
    readerFeatures: strings(
      protocols.map((protocol) => (protocol?.minReaderVersion === 3 ? protocol.readerFeatures : undefined)),
    ),
    writerFeatures: strings(
      protocols.map((protocol) => (protocol?.minWriterVersion === 7 ? protocol.writerFeatures : undefined)),
    ),
  });
}

function domainColumn(domains: (DomainMetadata | undefined)[]) {
  return struct(domains, {
    domain: utf8(domains.map((domain) => domain?.domain)),
    configuration: utf8(domains.map((domain) => domain?.configuration)),
    removed: bool(domains.map((domain) => domain?.removed)),
  });
}
