/** One commit as it stands in the log: each action raw, and in words. */

import { isLabError, LabError } from "../core/errors.ts";
import type { Action, Add, CommitInfo } from "../delta/actions.ts";
import { toAction } from "../delta/commit-file.ts";
import { rowsOf } from "../delta/file-totals.ts";
import { parseJson } from "../delta/json.ts";
import { commitPath } from "../delta/log-names.ts";
import { labInfoOf, type OffsetRange } from "../engine/lab-info.ts";
import type { NamedTable } from "./catalog.ts";
import { typeText } from "./show.ts";

/** `kind` as the log names it, such as `add`; `raw` as it is written; `text` says what it means. */
export type CommitLine = { kind: string; raw: string; text: string };

export type CommitDetail = {
  table: string;
  version: number;
  /** Path of the log's file. */
  path: string;
  bytes: number;
  lines: CommitLine[];
  /** Lines beyond those listed. */
  more: number;
  /** What it settled, per partition, both ends included. */
  offsets: OffsetRange[];
};

/** VERSION_NOT_FOUND where the commit's file is not there, or not any more. */
export async function describeCommit(
  { name, table }: NamedTable,
  version: number,
  options: { maxLines: number; signal: AbortSignal },
): Promise<CommitDetail> {
  const path = commitPath(version);
  const bytes = await table.store.get(path, options.signal).catch((error: unknown) => {
    if (!isLabError(error, "OBJECT_MISSING")) throw error;
    throw new LabError("VERSION_NOT_FOUND", `the log of ${name} has no commit ${version}, or not any more`, {
      hint: "lab history lists those that are there",
      cause: error,
    });
  });
  const sources = Buffer.from(bytes)
    .toString("utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  let offsets: OffsetRange[] = [];
  const lines = sources.map((raw): CommitLine => {
    const parsed = parseJson(raw);
    const kind = Object.keys(parsed as object)[0] ?? "";
    const action = toAction(parsed);
    if (action !== undefined && "commitInfo" in action)
      offsets = labInfoOf(action.commitInfo)?.partitions ?? offsets;
    return { kind, raw, text: action === undefined ? "An action that readers ignore" : words(action) };
  });
  const { maxLines } = options;
  return {
    ...{ table: name, version, path, bytes: bytes.length, offsets },
    lines: lines.slice(0, maxLines),
    more: Math.max(0, lines.length - maxLines),
  };
}

function words(action: Action): string {
  if ("commitInfo" in action) return infoWords(action.commitInfo);
  if ("add" in action) return addWords(action.add);
  if ("remove" in action) {
    const { path, dataChange } = action.remove;
    const why = dataChange
      ? "its rows are gone, or in files added here"
      : "its rows are in files added here, unchanged";
    return `Takes file ${path} out: ${why}. The file itself stays until a vacuum, so older versions can be read`;
  }
  if ("txn" in action) {
    const { appId, version } = action.txn;
    const partition = /\/(.+-\d+)$/.exec(appId)?.[1];
    return partition === undefined
      ? `Transaction ${appId} is at ${version}`
      : `Settles ${partition} up to offset ${version}: whoever starts next reads from ${version + 1n}`;
  }
  if ("metaData" in action) {
    const { partitionColumns, schemaString, configuration } = action.metaData;
    const fields = schemaFields(schemaString);
    const by = partitionColumns.length > 0 ? `, partitioned by ${partitionColumns.join(", ")}` : "";
    const properties = Object.keys(configuration).length;
    return `The table's columns are now ${fields}${by}; ${properties} ${properties === 1 ? "property" : "properties"}`;
  }
  if ("protocol" in action) {
    const { minReaderVersion, minWriterVersion, readerFeatures = [], writerFeatures = [] } = action.protocol;
    const features = [...new Set([...readerFeatures, ...writerFeatures])];
    const more = features.length > 0 ? `, with ${features.join(", ")}` : "";
    return `To be read by readers of version ${minReaderVersion} and written by writers of version ${minWriterVersion}${more}`;
  }
  if ("cdc" in action) return `Changed rows for the change data feed are in ${action.cdc.path}`;
  if ("domainMetadata" in action) return `Metadata of the domain ${action.domainMetadata.domain}`;
  return "An action of a checkpoint";
}

function infoWords(info: CommitInfo): string {
  const lab = labInfoOf(info);
  const engine = typeof info.engineInfo === "string" ? ` by ${info.engineInfo}` : "";
  const settled = (lab?.partitions ?? []).map(
    ({ topic, partition, first, last }) => `${topic}-${partition} ${first}-${last}`,
  );
  const took = settled.length > 0 ? `; took from Kafka ${settled.join(", ")}` : "";
  return `${info.operation ?? "An operation without a name"}${engine}${took}. It tells people; readers go by the other actions`;
}

function addWords(add: Add): string {
  const rows = rowsOf(add);
  const values = Object.entries(add.partitionValues).map(([name, value]) => `${name}=${value ?? "null"}`);
  const facts = [
    rows === undefined ? "rows not counted" : `${rows} rows`,
    `${add.size} bytes`,
    ...(values.length > 0 ? [values.join(", ")] : []),
    ...(add.deletionVector ? [`${add.deletionVector.cardinality} of its rows deleted`] : []),
    ...offsetWords(add.stats),
  ];
  const what = add.dataChange ? "Adds file" : "Adds rewritten file";
  return `${what} ${add.path}: ${facts.join(", ")}`;
}

type KafkaStats = { offset?: unknown };

function offsetWords(stats: string | undefined): string[] {
  if (stats === undefined) return [];
  const { minValues, maxValues } = parseJson(stats) as {
    minValues?: { _kafka?: KafkaStats };
    maxValues?: { _kafka?: KafkaStats };
  };
  const [least, most] = [minValues?._kafka?.offset, maxValues?._kafka?.offset];
  return least === undefined || most === undefined ? [] : [`offsets ${least} to ${most}`];
}

function schemaFields(schemaString: string): string {
  const { fields = [] } = JSON.parse(schemaString) as {
    fields?: { name: string; type: Parameters<typeof typeText>[0] }[];
  };
  return fields.map(({ name, type }) => `${name} ${typeText(type)}`).join(", ");
}
