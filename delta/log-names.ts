/** The names of the files in `_delta_log/` (PROTOCOL.md, "File Types"). What matches none of them is not the log's. */

/** Where the log stands, relative to the table's root. */
export const LOG_FOLDER = "_delta_log/";
export const LAST_CHECKPOINT = `${LOG_FOLDER}_last_checkpoint`;
export const SIDECAR_FOLDER = `${LOG_FOLDER}_sidecars/`;

/** Prefix of everything that carries a version: a listing below it skips sidecars and staged commits. */
export const VERSIONED_PREFIX = `${LOG_FOLDER}0`;

const COMMIT = /^_delta_log\/(\d{20})\.json$/;
const CLASSIC = /^_delta_log\/(\d{20})\.checkpoint\.parquet$/;
const MULTI_PART = /^_delta_log\/(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet$/;
const COMPACTION = /^_delta_log\/(\d{20})\.(\d{20})\.compacted\.json$/;
const UUID_NAMED =
  /^_delta_log\/(\d{20})\.checkpoint\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.(json|parquet)$/i;

export type LogName =
  | { kind: "commit"; version: number }
  | { kind: "classic"; version: number }
  | { kind: "multi"; version: number; part: number; parts: number }
  | { kind: "v2"; version: number }
  /** Stands for the commits `from` to `version`. */
  | { kind: "compaction"; version: number; from: number };

/** What a path in the store is to the log; undefined for all that a reader must ignore. */
export function parseLogName(path: string): LogName | undefined {
  const commit = COMMIT.exec(path);
  if (commit) return { kind: "commit", version: Number(commit[1]) };
  const classic = CLASSIC.exec(path);
  if (classic) return { kind: "classic", version: Number(classic[1]) };
  const multi = MULTI_PART.exec(path);
  if (multi)
    return { kind: "multi", version: Number(multi[1]), part: Number(multi[2]), parts: Number(multi[3]) };
  const v2 = UUID_NAMED.exec(path);
  if (v2) return { kind: "v2", version: Number(v2[1]) };
  const compaction = COMPACTION.exec(path);
  if (compaction) return { kind: "compaction", version: Number(compaction[2]), from: Number(compaction[1]) };
  return undefined;
}

export function commitPath(version: number): string {
  return `${LOG_FOLDER}${digits(version, 20)}.json`;
}

export function checkpointPath(version: number): string {
  return `${LOG_FOLDER}${digits(version, 20)}.checkpoint.parquet`;
}

/** The path of one part, counted from 1, of a checkpoint in parts. */
export function partPath(version: number, part: number, parts: number): string {
  return `${LOG_FOLDER}${digits(version, 20)}.checkpoint.${digits(part, 10)}.${digits(parts, 10)}.parquet`;
}

/** Of a V2 checkpoint whose file actions stand in sidecars. */
export function uuidCheckpointPath(version: number, uuid: string): string {
  return `${LOG_FOLDER}${digits(version, 20)}.checkpoint.${uuid}.json`;
}

/** A path just before everything of `version`, for listings that start there. */
export function beforeVersion(version: number): string {
  return `${LOG_FOLDER}${digits(version, 20)}`;
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, "0");
}
