/** What a history says beyond its numbers: kinds of versions, rows after each, and one line of words. Pure. */

import { bytes, clock, count, duration, many } from "./format.js";

/**
 * @typedef {import("../tables.ts").VersionEntry} VersionEntry
 * @typedef {"append" | "optimize" | "change" | "schema" | "restore" | "other"} Kind
 * What a bar's height says.
 * @typedef {"rows" | "bytes" | "duration"} Measure
 */

/** How a version is drawn. @param {VersionEntry} entry @returns {Kind} */
export function kindOf({ operation, rowsAdded, rowsRemoved, filesAdded }) {
  if (/^OPTIMIZE|^REORG/.test(operation)) return "optimize";
  if (/^RESTORE/.test(operation)) return "restore";
  if (/COLUMN|TBLPROPERTIES|PROTOCOL|CONSTRAINT/.test(operation)) return "schema";
  if (rowsRemoved === null ? /^DELETE|^UPDATE|^MERGE/.test(operation) : Number(rowsRemoved) > 0)
    return "change";
  return Number(rowsAdded ?? 0) > 0 || filesAdded > 0 ? "append" : "other";
}

/** Whether columns or properties are others since this version; a commit of rows may bring them, too. @param {VersionEntry} entry */
export const changesTable = (entry) =>
  kindOf(entry) === "schema" || (entry.hasMetadata && entry.version > 0 && kindOf(entry) !== "restore");

/** What each kind is called in the legend. @type {Readonly<Record<Kind, string>>} */
export const KIND_NAMES = {
  append: "rows added",
  optimize: "optimize",
  change: "rows removed or changed",
  schema: "schema or properties",
  restore: "restore",
  other: "no rows",
};

/** An optimize rewrites rows: neither added nor removed from the reader's view. @param {VersionEntry} entry */
export const isRewrite = (entry) => kindOf(entry) === "optimize";

/**
 * Rows of the table after each version, oldest first: counted from version 0, and where a version in between does
 * not say, from `anchor`, one whose rows are known. Null where neither reaches.
 * @param {readonly VersionEntry[]} entries oldest first
 * @param {{ version: number, rows: string | null } | null} anchor
 * @returns {(number | null)[]}
 */
export function rowsAfter(entries, anchor) {
  const growth = entries.map(growthOf);
  /** @type {(number | null)[]} */
  const totals = new Array(entries.length).fill(null);
  if (entries[0]?.version === 0) totals[0] = growth[0] ?? null;
  const place = entries.findIndex((entry) => entry.version === anchor?.version);
  if (anchor?.rows != null && place >= 0 && !isCounted(growth, place, entries))
    totals[place] = Number(anchor.rows);
  for (let n = place - 1; n >= 0; n--) totals[n] ??= sum(totals[n + 1], growth[n + 1], -1);
  for (let n = 1; n < entries.length; n++) totals[n] ??= sum(totals[n - 1], growth[n], 1);
  return totals;
}

/** Whether counting from version 0 reaches this place. @param {readonly (number | null)[]} growth @param {number} place @param {readonly VersionEntry[]} entries */
const isCounted = (growth, place, entries) =>
  entries[0]?.version === 0 && growth.slice(0, place + 1).every((rows) => rows !== null);

/** @param {number | null | undefined} total @param {number | null | undefined} growth @param {1 | -1} sign */
const sum = (total, growth, sign) => (total == null || growth == null ? null : total + sign * growth);

/** @param {VersionEntry} entry */
function growthOf(entry) {
  if (isRewrite(entry)) return 0;
  if (entry.rowsAdded === null || entry.rowsRemoved === null) return null;
  return Number(entry.rowsAdded) - Number(entry.rowsRemoved);
}

/** What a version did, in words. @param {VersionEntry} entry */
export function whatItDid(entry) {
  const files = entry.filesAdded + entry.filesRemoved > 0;
  if (isRewrite(entry))
    return `${many(entry.filesRemoved, "file")} became ${count(entry.filesAdded)}, rows unchanged`;
  if (entry.rowsAdded === null)
    return files ? `${many(entry.filesAdded, "file")} added, rows not counted` : "no rows";
  const parts = [];
  if (entry.rowsAdded !== "0" || (!files && entry.rowsRemoved === "0"))
    parts.push(`${many(entry.rowsAdded, "row")} added`);
  if (entry.rowsRemoved === null) parts.push("rows removed not counted");
  else if (entry.rowsRemoved !== "0") parts.push(`${many(entry.rowsRemoved, "row")} removed`);
  return parts.join(", ") || "no rows";
}

/** Files and bytes of a version, in and out; nothing where it touched no files. @param {VersionEntry} entry */
export function filesOf({ filesAdded, filesRemoved, bytesAdded, bytesRemoved }) {
  const added = filesAdded === 0 ? [] : [`${many(filesAdded, "file")} in (${bytes(bytesAdded)})`];
  const removed = filesRemoved === 0 ? [] : [`${count(filesRemoved)} out (${bytes(bytesRemoved)})`];
  return [...added, ...removed].join(", ");
}

/** How long the work of a version took; nothing where its writer did not say. @param {VersionEntry} entry */
export const tookOf = ({ durationMs }) => (durationMs === null ? "" : `took ${duration(durationMs)}`);

/** For the slider's value, read aloud. @param {VersionEntry} entry */
export const spoken = (entry) =>
  [
    `Version ${entry.version}`,
    entry.operation.toLowerCase(),
    whatItDid(entry),
    ...(entry.filesAdded > 0 ? [bytes(entry.bytesAdded)] : []),
    ...(entry.durationMs === null ? [] : [tookOf(entry)]),
    clock(entry.timestamp).replace("Z", " UTC"),
  ].join(", ");

/** Beyond this spread between versions heights are logarithmic, and the legend says so. */
const LOG_FROM = 100;

/** @type {WeakMap<readonly VersionEntry[], Map<Measure, { heights: Map<VersionEntry, number>, isLog: boolean }>>} */
const known = new WeakMap();

/** Height of each version between 0 and 1, worked out once for a history. @param {readonly VersionEntry[]} entries @param {Measure} measure */
export function heightsOf(entries, measure) {
  const before = known.get(entries) ?? new Map();
  known.set(entries, before);
  const found = before.get(measure) ?? measured(entries, measure);
  before.set(measure, found);
  return found;
}

/** @param {readonly VersionEntry[]} entries @param {Measure} measure */
function measured(entries, measure) {
  const sizes = entries.map((entry) => sizeOf(entry, measure));
  const most = sizes.reduce((a, b) => Math.max(a, b), 1);
  const least = sizes.reduce((a, b) => (b > 0 ? Math.min(a, b) : a), most);
  const isLog = most / least > LOG_FROM;
  const share = (/** @type {number} */ n) => (isLog ? Math.log1p(n) / Math.log1p(most) : n / most);
  return { heights: new Map(entries.map((entry, n) => [entry, share(sizes[n] ?? 0)])), isLog };
}

/** @param {VersionEntry} entry @param {Measure} measure */
function sizeOf({ rowsAdded, rowsRemoved, bytesAdded, bytesRemoved, durationMs }, measure) {
  if (measure === "duration") return durationMs ?? 0;
  const [added, removed] = measure === "rows" ? [rowsAdded, rowsRemoved] : [bytesAdded, bytesRemoved];
  return Math.max(Number(added ?? 0), Number(removed ?? 0));
}

/** Whether a version can still be read, and has a checkpoint. @param {import("../tables.ts").VersionMarks} marks @param {number} version */
export const marksOf = ({ checkpoints, unreadable }, version) => ({
  hasCheckpoint: checkpoints.includes(version),
  isReadable: !unreadable.some(([from, to]) => version >= from && version <= to),
});

/**
 * The next version before or after `version` that is not a plain append; null if there is none.
 * @param {readonly VersionEntry[]} entries @param {number} version @param {1 | -1} step
 */
export function nextMark(entries, version, step) {
  const isMark = (/** @type {VersionEntry} */ entry) => kindOf(entry) !== "append" || changesTable(entry);
  const marks = entries.filter((entry) => (entry.version - version) * step > 0 && isMark(entry));
  return (step > 0 ? marks[0] : marks.at(-1))?.version ?? null;
}

/**
 * Thins a line to at most `most` points: of each run the first and the last of its range stay.
 * @template T @param {readonly T[]} points @param {number} most @returns {T[]}
 */
export function thin(points, most) {
  const step = Math.ceil(points.length / most);
  return points.filter((_, n) => n % step === 0 || n === points.length - 1);
}
