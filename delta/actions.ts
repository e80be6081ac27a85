/** The actions of a Delta commit as this code holds them (PROTOCOL.md, "Actions"). */

/** Column (physical name under column mapping) to serialized value; null for null. Every partition column is there. */
export type PartitionValues = Readonly<Record<string, string | null>>;

export type DeletionVector = {
  storageType: "u" | "p" | "i";
  pathOrInlineDv: string;
  offset?: number;
  sizeInBytes: number;
  cardinality: bigint;
};

export type Add = {
  /** As in the log: a percent-encoded URI reference, relative to the table root or absolute. */
  path: string;
  partitionValues: PartitionValues;
  /** Bytes. */
  size: number;
  /** Milliseconds since the epoch. */
  modificationTime: number;
  dataChange: boolean;
  /** The statistics as a JSON string (protocol, "Per-file Statistics"). */
  stats?: string;
  tags?: Record<string, string>;
  deletionVector?: DeletionVector;
  baseRowId?: bigint;
  defaultRowCommitVersion?: bigint;
  clusteringProvider?: string;
};

export type Remove = {
  path: string;
  dataChange: boolean;
  deletionTimestamp?: number;
  extendedFileMetadata?: boolean;
  partitionValues?: PartitionValues;
  size?: number;
  deletionVector?: DeletionVector;
  baseRowId?: bigint;
  defaultRowCommitVersion?: bigint;
};

export type Cdc = {
  path: string;
  partitionValues: PartitionValues;
  size: number;
  dataChange: false;
  tags?: Record<string, string>;
};

/** `version` is chosen by the application; ours is the last settled offset of a partition. */
export type Txn = { appId: string; version: bigint; lastUpdated?: number };

export type Protocol = {
  minReaderVersion: number;
  minWriterVersion: number;
  readerFeatures?: string[];
  writerFeatures?: string[];
};

export type Metadata = {
  id: string;
  name?: string;
  description?: string;
  format: { provider: string; options: Record<string, string> };
  schemaString: string;
  partitionColumns: string[];
  configuration: Record<string, string>;
  createdTime?: number;
};

export type DomainMetadata = { domain: string; configuration: string; removed: boolean };

/** Free JSON; what this code reads of it. */
export type CommitInfo = {
  timestamp?: number;
  inCommitTimestamp?: number;
  operation?: string;
  operationParameters?: Record<string, unknown>;
  operationMetrics?: Record<string, unknown>;
  readVersion?: number;
  isolationLevel?: string;
  isBlindAppend?: boolean;
  engineInfo?: string;
  txnId?: string;
  userMetadata?: string;
  [other: string]: unknown;
};

/** One line of a commit file: exactly one of these. What is none of them is skipped. */
export type Action =
  | { add: Add }
  | { remove: Remove }
  | { cdc: Cdc }
  | { txn: Txn }
  | { protocol: Protocol }
  | { metaData: Metadata }
  | { domainMetadata: DomainMetadata }
  | { commitInfo: CommitInfo };
