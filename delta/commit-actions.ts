/** What goes into a commit file for a request: checked, and rebuilt for each version that is tried. */

import { LabError } from "../core/errors.ts";
import type { Action, Add, CommitInfo, DomainMetadata, Metadata, Protocol, Remove } from "./actions.ts";
import { isBlindAppend, isolationOf } from "./conflict.ts";
import { partitionNames } from "./partition-names.ts";
import { canonicalPath } from "./path.ts";
import { checkDemands, checkWritable, isActive, unsupported, writerFeaturesOf } from "./protocol.ts";
import { isRowTracked, withRowIds } from "./row-tracking.ts";
import { parseSchema } from "./schema.ts";
import { checkSchema } from "./schema-check.ts";
import type { CommitRequest, Snapshot } from "./table.ts";
import { checkProperties } from "./table-properties.ts";
import { checkTypeChanges, widenOf } from "./type-widening.ts";
import { checkDuties } from "./writer-duties.ts";

export const ENGINE_INFO = "delta-stream-lab/0.1.0";

/** Refuses what must not be committed on `base`: APPEND_ONLY, UNSUPPORTED_FEATURE, SCHEMA_MISMATCH, CONFIG_INVALID. */
export function checkRequest(request: CommitRequest, base: Snapshot, root: string): void {
  const protocol = request.protocol ?? base.protocol;
  const metadata = request.metadata ?? base.metadata;
  checkWritable(base.protocol, base.metadata);
  if (request.protocol || request.metadata) {
    checkWritable(protocol, metadata);
    checkDemands(protocol, metadata);
    checkProperties(metadata.configuration, base.metadata.configuration);
  }
  if (request.metadata) {
    if (request.metadata.id !== base.metadata.id)
      throw new LabError("INTERNAL", "a commit must not change the table's id");
    // What another engine allowed itself in a schema stays its affair while the schema stays.
    if (base.version < 0 || metadata.schemaString !== base.metadata.schemaString)
      checkSchema(parseSchema(metadata.schemaString), metadata.partitionColumns);
    // A restore brings types back together with the files that have them.
    const isKept = base.numFiles > 0 && request.operation !== "RESTORE";
    if (isKept && metadata.schemaString !== base.metadata.schemaString) {
      const schema = parseSchema(metadata.schemaString);
      checkTypeChanges(base.schema, schema, widenOf(protocol, metadata, schema));
    }
  }
  const isAppendOnly = isActive(protocol, metadata, "delta.appendOnly", "appendOnly");
  if (isAppendOnly && (request.removes ?? []).some((file) => file.dataChange))
    throw new LabError("APPEND_ONLY", "the table has delta.appendOnly = true: rows cannot be removed", {
      hint: "set delta.appendOnly to false first, if that is meant",
    });
  checkDomains(request.domains ?? [], protocol);
  checkDuties(request, base);
  checkFiles(request.adds ?? [], request.removes ?? [], metadata, root);
}

function checkDomains(domains: readonly DomainMetadata[], protocol: Protocol): void {
  if (domains.length > 0 && !writerFeaturesOf(protocol).has("domainMetadata"))
    throw unsupported("domainMetadata, which its protocol lacks,", "written");
  for (const { domain } of domains)
    if (domain.startsWith("delta."))
      throw new LabError("INTERNAL", `domain ${domain} belongs to the protocol and is not a caller's to set`);
}

/** The actions of `request` as version `base.version + 1`. Version-dependent fields are made anew for each version. */
export function commitActions(
  request: CommitRequest,
  base: Snapshot,
  settings: { nowMs: number; txnId: string; isNewTable?: boolean },
): Action[] {
  const { nowMs, txnId } = settings;
  const protocol = request.protocol ?? base.protocol;
  const wanted = request.metadata ?? base.metadata;
  const hasTimes = isActive(protocol, wanted, "delta.enableInCommitTimestamps", "inCommitTimestamp");
  const inCommitTimestamp = Math.max(nowMs, Number.isFinite(base.timestampMs) ? base.timestampMs + 1 : 0);
  const hadTimes = isActive(
    base.protocol,
    base.metadata,
    "delta.enableInCommitTimestamps",
    "inCommitTimestamp",
  );
  const metadata =
    request.metadata && hasTimes && !hadTimes && !settings.isNewTable
      ? withEnablement(request.metadata, base.version + 1, inCommitTimestamp)
      : request.metadata;
  const info: CommitInfo = {
    timestamp: hasTimes ? inCommitTimestamp : nowMs,
    ...(hasTimes ? { inCommitTimestamp } : {}),
    operation: request.operation,
    operationParameters: request.operationParameters ?? {},
    ...(request.operationMetrics ? { operationMetrics: request.operationMetrics } : {}),
    ...(settings.isNewTable ? {} : { readVersion: request.readSnapshot.version }),
    isolationLevel: isolationOf(request, wanted),
    isBlindAppend: isBlindAppend(request),
    engineInfo: ENGINE_INFO,
    txnId,
    ...request.info,
  };
  const numbered = withRowIds(request.adds ?? [], base, isRowTracked(request, base));
  return [
    { commitInfo: info },
    ...(request.protocol ? [{ protocol: request.protocol }] : []),
    ...(metadata ? [{ metaData: metadata }] : []),
    ...(request.txns ?? []).map((txn) => ({ txn })),
    ...[...(request.domains ?? []), ...numbered.domains].map((domainMetadata) => ({ domainMetadata })),
    ...(request.removes ?? []).map((remove) => ({ remove })),
    ...numbered.adds.map((add) => ({ add })),
    ...(request.cdcs ?? []).map((cdc) => ({ cdc })),
  ];
}

/** In-commit timestamps that start late say since when, so that time travel knows which times count. */
function withEnablement(metadata: Metadata, version: number, timestampMs: number): Metadata {
  const configuration = {
    ...metadata.configuration,
    "delta.inCommitTimestampEnablementVersion": String(version),
    "delta.inCommitTimestampEnablementTimestamp": String(timestampMs),
  };
  return { ...metadata, configuration };
}

/** One add and one remove per path at most, and a value for each partition column. */
function checkFiles(
  adds: readonly Add[],
  removes: readonly Remove[],
  metadata: Metadata,
  root: string,
): void {
  for (const files of [adds, removes]) {
    const seen = new Set<string>();
    for (const { path } of files) {
      const name = canonicalPath(root, path);
      if (seen.has(name)) throw new LabError("INTERNAL", `${path} stands twice in one commit`);
      seen.add(name);
    }
  }
  const columns = partitionNames(metadata);
  for (const { path, partitionValues } of adds) {
    const names = Object.keys(partitionValues);
    const isComplete = columns.every((column) => Object.hasOwn(partitionValues, column));
    if (!isComplete || names.length !== columns.length)
      throw new LabError(
        "INTERNAL",
        `${path} has partition values for [${names}], the table for [${columns}]`,
      );
  }
}
