/** The version that is looked at, or pointed at, in words; and the legend of the timeline's shapes. */

import { byId, h, time } from "./dom.js";
import { clock } from "./format.js";
import { changesTable, filesOf, heightsOf, KIND_NAMES, kindOf, marksOf, tookOf, whatItDid } from "./model.js";

/** @typedef {import("../tables.ts").VersionEntry} VersionEntry */

const UNREADABLE = "its files are gone: cannot be read";

/**
 * @param {VersionEntry | undefined} entry @param {import("./state.js").History | null} history @param {string | null} table
 * @param {boolean} isUnknown There is no such table. @param {import("../tables.ts").VersionMarks} marks @returns {(Node | string)[]}
 */
export function versionLine(entry, history, table, isUnknown, marks) {
  if (history?.problem)
    return [`The log cannot be read: ${history.problem.message} (${history.problem.code})`];
  if (entry === undefined && table === null) return ["No table yet"];
  if (entry === undefined && isUnknown) return ["No such table"];
  if (entry === undefined) return [history?.isLoaded ? "No versions" : "Reading the log..."];
  const { isReadable, hasCheckpoint } = marksOf(marks, entry.version);
  const facts = [
    entry.operation,
    ...(isReadable ? [] : [UNREADABLE]),
    whatItDid(entry),
    changesTable(entry) ? "schema or properties changed" : "",
    filesOf(entry),
    tookOf(entry),
    hasCheckpoint ? "checkpoint" : "",
  ].filter((fact) => fact !== "");
  return [
    h("strong", {}, `Version ${entry.version}`),
    ` · ${facts.join(" · ")} · `,
    time(entry.timestamp, clock(entry.timestamp)),
  ];
}

/** What stands beside the pointer. @param {VersionEntry} entry @param {import("../tables.ts").VersionMarks} marks */
export function tipLines(entry, marks) {
  const { isReadable, hasCheckpoint } = marksOf(marks, entry.version);
  const lines = [
    `${entry.operation}, ${clock(entry.timestamp)}`,
    whatItDid(entry),
    changesTable(entry) ? "schema or properties changed" : "",
    filesOf(entry),
    entry.durationMs === null ? "duration not told" : tookOf(entry),
    hasCheckpoint ? "checkpoint" : "",
    isReadable ? "" : UNREADABLE,
  ].filter((line) => line !== "");
  return [h("strong", {}, `Version ${entry.version}`), ...lines.map((line) => h("span", {}, line))];
}

/**
 * Names only the shapes that are there.
 * @param {readonly VersionEntry[]} entries @param {import("./model.js").Measure} measure @param {import("../tables.ts").VersionMarks} marks
 * @param {boolean} isWhole whether the oldest versions are among the entries
 */
export function showLegend(entries, measure, marks, isWhole) {
  const kinds = new Set(entries.map(kindOf));
  if (entries.some(changesTable)) kinds.add("schema");
  const first = entries[0]?.version ?? 0;
  const signs = [
    ...[...kinds].map((kind) => ({ kind, name: KIND_NAMES[kind] })),
    ...(marks.checkpoints.length > 0 ? [{ kind: "checkpoint", name: "checkpoint" }] : []),
    ...(marks.unreadable.length > 0 ? [{ kind: "unreadable", name: "cannot be read: files are gone" }] : []),
  ];
  const lost =
    isWhole && first > 0 ? [h("span", {}, `Versions before ${first} are no longer in the log`)] : [];
  byId("legend").replaceChildren(
    ...signs.map(({ kind, name }) => h("span", { "data-kind": kind }, name)),
    ...(heightsOf(entries, measure).isLog ? [h("span", {}, "height: logarithmic")] : []),
    ...lost,
  );
}
