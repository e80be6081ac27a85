/** What the ledger says of a table, in words and terms that add up. Pure. */

import { count, many } from "./format.js";

/**
 * @typedef {import("../ledger-watch.ts").TableLedger} TableLedger
 * @typedef {import("../ledger.ts").LedgerLine} LedgerLine
 * @typedef {{ name: string, sign: string, title: string, isBad: boolean, of: (terms: any) => string }} Term
 * @typedef {{ text: string, sql: string | null }} Finding
 */

/** Longs come as decimal strings. @param {readonly any[]} lines @param {string} name */
export const total = (lines, name) => String(lines.reduce((sum, line) => sum + BigInt(line[name]), 0n));

/** @type {readonly Term[]} */
const TERMS = [
  term("produced", "", "Records that a reader of the topic, independent of the ingester, has seen"),
  term("distinct", "=", "Records that are rows of the table", "rows"),
  term("letters", "+", "Records that are dead letters"),
  term("skipped", "+", "Records that a transform left out"),
  term("removedByRestore", "+", "Records whose rows a restore took back on purpose", "taken by restore"),
  term("waiting", "+", "Produced, and not settled by a commit yet"),
  term("lost", "+", "Settled, and nowhere to be found", "lost", true),
  term("doubled", "", "Rows or letters beyond one for each record; not in the sum", "doubled", true),
  term("strange", "", "Rows at offsets at which the topic has no record", "strange", true),
];

/** @param {string} name @param {string} sign @param {string} title @param {string} [shown] @returns {Term} */
function term(name, sign, title, shown = name, isBad = false) {
  return { name: shown, sign, title, isBad, of: (terms) => terms[name] };
}

/** Where changes are merged, in place of rows and of what a transform left out. @type {Term} */
const MERGED = term("skipped", "=", "Messages that commits say they merged, or are of no row", "merged");

/**
 * The terms to show: those that are always there, and those that are not 0 anywhere.
 * @param {readonly any[]} lines @param {boolean} isMerged
 */
export const termsFor = (lines, isMerged) =>
  TERMS.flatMap((one) =>
    !isMerged ? one : one.name === "rows" ? MERGED : one.name === "skipped" ? [] : one,
  ).filter(
    ({ name, of }) =>
      (name !== "taken by restore" && name !== "strange") || lines.some((line) => of(line) !== "0"),
  );

/** How bad it is, and the one sentence that says so. @param {TableLedger} ledger @returns {{ verdict: TableLedger["verdict"], text: string }} */
export function verdictOf(ledger) {
  const { verdict, why, lines, isMerged } = ledger;
  if (verdict === "whole" && isMerged) return { verdict, text: "Nothing lost, as the commits tell" };
  if (verdict === "whole") return { verdict, text: "Nothing lost, nothing doubled" };
  if (verdict === "unknown") return { verdict, text: `Cannot tell: ${why ?? "not counted yet"}` };
  const parts = [
    ["Lost", total(lines, "lost")],
    ["Doubled", total(lines, "doubled")],
    ["Strange", total(lines, "strange")],
  ].filter(([, n]) => n !== "0");
  return { verdict, text: parts.map(([name, n]) => `${name} ${count(n)}`).join(", ") };
}

const MOST_FINDINGS = 6;

/** Which offsets it is about, each with a statement that shows what there is. @param {TableLedger} ledger @returns {Finding[]} */
export function findingsOf({ table, lines }) {
  const found = lines.flatMap((line) => [
    ...line.lostOffsets.map((range) => finding("lost", table, line, range)),
    ...line.doubledOffsets.map((range) => finding("doubled", table, line, range)),
  ]);
  const more = found.length - MOST_FINDINGS;
  const rest = more > 0 ? [{ text: `and ${many(more, "more range")}`, sql: null }] : [];
  return [...found.slice(0, MOST_FINDINGS), ...rest];
}

/** @param {string} word @param {string} table @param {LedgerLine} line @param {any} range @returns {Finding} */
function finding(word, table, { topic, partition, skipped }, { first, last }) {
  const offsets = first === last ? `offset ${count(first)}` : `offsets ${count(first)}-${count(last)}`;
  const among = word === "lost" && String(skipped) !== "0" ? "among " : "";
  const name = /^[A-Za-z_]\w*$/.test(table) ? table : `"${table.replaceAll('"', '""')}"`;
  const text = `${topic}-${partition} ${among}${offsets} ${word}`;
  const sql = `SELECT * FROM ${name} WHERE _kafka.topic = '${topic.replaceAll("'", "''")}' AND _kafka."partition" = ${partition} AND _kafka."offset" BETWEEN ${first} AND ${last} ORDER BY _kafka."offset"`;
  return { text, sql };
}

/** Who did it, as far as commits tell. @param {import("../ledger-watch.ts").Culprit} culprit */
export function culpritText({ version, operation, engine, removed, doubled }) {
  const did = [
    String(removed) === "0" ? "" : `took ${count(removed)}`,
    String(doubled) === "0" ? "" : `brought ${count(doubled)} again`,
  ].filter((part) => part !== "");
  return `Version ${version}, ${operation} by ${engine ?? "an unnamed writer"}, ${did.join(" and ")}`;
}

/** The terms of each minute over all partitions, newest first. @param {TableLedger} ledger */
export function byMinute({ minutes }) {
  const times = [...new Set(minutes.map(({ minute }) => minute))].sort((a, b) => b - a);
  return times.map((minute) => {
    const own = minutes.filter((one) => one.minute === minute);
    const names = /** @type {const} */ ([
      ...["produced", "distinct", "letters", "skipped", "removedByRestore", "waiting", "lost", "doubled"],
    ]);
    return { minute, ...Object.fromEntries(names.map((name) => [name, total(own, name)])), strange: "0" };
  });
}
