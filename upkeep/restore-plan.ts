/** What makes a version of a table out of another one (pure). */

import { isDeepStrictEqual } from "node:util";
import type { Add, DomainMetadata, Metadata, Protocol, Remove } from "../delta/actions.ts";
import { fileKey } from "../delta/file-key.ts";
import { partitionNames } from "../delta/partition-names.ts";
import { writerFeaturesOf } from "../delta/protocol.ts";
import type { Snapshot } from "../delta/table.ts";
import { tombstoneOf } from "../delta/tombstone.ts";

export type RestorePlan = {
  adds: Add[];
  /** The live files that go; `removes` takes them out. */
  going: Add[];
  removes: Remove[];
  metadata?: Metadata;
  protocol?: Protocol;
  domains?: DomainMetadata[];
};

/** The one property that must not fall: a column id is never given out twice (PROTOCOL.md, "Column Mapping"). */
const MAX_COLUMN_ID = "delta.columnMapping.maxColumnId";
/** Goes with the schema. All other domains stay as they are. */
const CLUSTERING = "delta.clustering";

/** What takes `latest` back to the state of `target`: its files and its metadata. The protocol keeps all features it has, and gets those it lost. */
export function planRestore(root: string, latest: Snapshot, target: Snapshot, nowMs: number): RestorePlan {
  const live = new Map<string, Add>();
  for (const add of latest.files()) live.set(fileKey(root, add.path, add.deletionVector), add);
  const adds: Add[] = [];
  // Other writers leave a null out; in a commit from here each column has its value.
  const nulls = Object.fromEntries(partitionNames(target.metadata).map((name) => [name, null]));
  for (const add of target.files())
    if (!live.delete(fileKey(root, add.path, add.deletionVector)))
      adds.push({ ...add, partitionValues: { ...nulls, ...add.partitionValues }, dataChange: true });
  const going = [...live.values()];
  const metadata = restoredMetadata(latest.metadata, target.metadata);
  const protocol = raisedProtocol(latest.protocol, target.protocol);
  const domains = clusteringDomain(latest, target);
  return {
    adds,
    going,
    removes: going.map((add) => tombstoneOf(add, { nowMs, dataChange: true })),
    ...(isDeepStrictEqual(metadata, latest.metadata) ? {} : { metadata }),
    ...(protocol ? { protocol } : {}),
    ...(domains ? { domains: [domains] } : {}),
  };
}

function restoredMetadata(latest: Metadata, target: Metadata): Metadata {
  const highest = Math.max(...[latest, target].map((one) => Number(one.configuration[MAX_COLUMN_ID] ?? 0)));
  if (highest === 0) return target;
  return { ...target, configuration: { ...target.configuration, [MAX_COLUMN_ID]: String(highest) } };
}

/** A protocol with the features of both, where `latest` has dropped some that the restored files may need. */
function raisedProtocol(latest: Protocol, target: Protocol): Protocol | undefined {
  const has = { reader: readerFeaturesOf(latest), writer: writerFeaturesOf(latest) };
  const needs = { reader: readerFeaturesOf(target), writer: writerFeaturesOf(target) };
  const isLost = (side: "reader" | "writer") => [...needs[side]].some((feature) => !has[side].has(feature));
  if (!isLost("reader") && !isLost("writer")) return undefined;
  const minReaderVersion = Math.max(latest.minReaderVersion, target.minReaderVersion);
  const minWriterVersion =
    minReaderVersion === 3 ? 7 : Math.max(latest.minWriterVersion, target.minWriterVersion);
  const union = (side: "reader" | "writer") => [...new Set([...has[side], ...needs[side]])];
  return {
    minReaderVersion,
    minWriterVersion,
    ...(minReaderVersion === 3 ? { readerFeatures: union("reader") } : {}),
    ...(minWriterVersion === 7 ? { writerFeatures: union("writer") } : {}),
  };
}

/** A reader version of 2 stands for column mapping. */
function readerFeaturesOf({ minReaderVersion, readerFeatures }: Protocol): Set<string> {
  if (minReaderVersion === 3) return new Set(readerFeatures);
  return new Set(minReaderVersion === 2 ? ["columnMapping"] : []);
}

function clusteringDomain(latest: Snapshot, target: Snapshot): DomainMetadata | undefined {
  const [now, then] = [latest, target].map((snapshot) => snapshot.domains().get(CLUSTERING));
  if (now?.configuration === then?.configuration) return undefined;
  return then ?? { domain: CLUSTERING, configuration: "", removed: true };
}
