/** The commit that holds rows and positions together. */

import type { Add, Metadata } from "../delta/actions.ts";
import { sumBytes } from "../delta/file-totals.ts";
import { serializeSchema } from "../delta/schema.ts";
import type { CommitRequest } from "../delta/table.ts";
import { ENFORCED } from "../engine/constraints.ts";
import { auditInfos } from "./audit-counts.ts";
import type { PartitionCounts } from "./chunk.ts";
import type { Opened } from "./destination.ts";
import { inputProperty } from "./identity.ts";
import { type PublishInput, readTxns, txnsOf } from "./publish-input.ts";

/** What a commit of rows says. */
export type RowsContent = {
  adds: readonly Add[];
  rows: number;
  letters: number;
  /** Where the commit changes it. */
  metadata: Metadata | undefined;
  /** `commitInfo.lab`. */
  lab: object;
  /** When its files began to be uploaded. */
  startedMs: number;
  /** Whether a position stays that is beyond `version`, which is settled with this; default: none does. */
  isKept?: (partition: number, version: bigint) => boolean;
};

/** The request for files that stand in the store of `opened`, with every position that they settle. */
export function rowsRequest(input: PublishInput, opened: Opened, content: RowsContent): CommitRequest {
  const { adds, metadata, isKept = () => false } = content;
  return {
    readSnapshot: opened.snapshot,
    operation: "STREAMING UPDATE",
    operationParameters: { outputMode: "Append", topic: input.options.topic },
    operationMetrics: {
      numOutputRows: String(content.rows),
      numDeadLetters: String(content.letters),
      numAddedFiles: String(adds.length),
      numOutputBytes: String(sumBytes(adds)),
      executionTimeMs: String(Math.max(0, Math.round(input.now() - content.startedMs))),
    },
    adds,
    enforced: ENFORCED,
    txns: txnsOf(input, opened.snapshot, { form: input.appIdForm, isKept }),
    readTxns: readTxns(input, input.appIdForm),
    ...(metadata ? { metadata } : {}),
    info: { lab: content.lab },
  };
}

/** The table's metadata with the newest schemas that the chunks were written with; undefined where nothing is new. */
export function evolvedMetadata({ chunks, options }: PublishInput, metadata: Metadata): Metadata | undefined {
  const schema = chunks.findLast((chunk) => chunk.evolvedSchema !== undefined)?.evolvedSchema;
  const messages = chunks.findLast((chunk) => chunk.evolvedInput !== undefined)?.evolvedInput;
  if (!schema && !messages) return undefined;
  return {
    ...metadata,
    ...(schema ? { schemaString: serializeSchema(schema) } : {}),
    configuration: {
      ...metadata.configuration,
      ...(messages ? { [inputProperty(options.topic)]: serializeSchema(messages) } : {}),
    },
  };
}

/** `commitInfo.lab` (contracts.md, "Tables"): what this version holds of the topic, for people and for the next start. */
export function labInfo(input: PublishInput, counts: ReadonlyMap<number, PartitionCounts>): object {
  const { app, topic } = input.options;
  // By the user's word, not by what was read: `--on-topic-reset`.
  const moved = [...input.settled]
    .filter(([partition]) => !counts.has(partition))
    .map(([partition, next]) => ({ topic, partition, next: next.toString() }));
  const audit = auditInfos(
    topic,
    input.chunks.map((chunk) => chunk.audit),
  );
  return {
    v: 1,
    app,
    generation: input.recordGeneration,
    partitions: [...counts]
      .sort(([a], [b]) => a - b)
      .map(([partition, item]) => ({
        topic,
        partition,
        first: item.first.toString(),
        last: item.last.toString(),
        rows: item.rows,
        letters: item.letters,
        skipped: item.skipped,
        minTimestamp: item.minTimestampMs,
        maxTimestamp: item.maxTimestampMs,
        fingerprint: item.fingerprint,
      })),
    ...(moved.length > 0 ? { moved } : {}),
    ...(audit.length > 0 ? { audit } : {}),
  };
}
