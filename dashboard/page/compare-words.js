/** Two versions side by side: rows paired by their key, and the difference in a sentence. Pure. */

import { bytes, count, many } from "./format.js";

/**
 * @typedef {import("../tables.ts").TableDiff} TableDiff
 * @typedef {{ sign: "+" | "-" | "~", cells: readonly { before: unknown, after: unknown, isChanged: boolean }[] }} DiffRow
 */

/**
 * Rows of both sides in one list. Of a key that is on both sides exactly once the row changed; without a key each is added or removed.
 * @param {Pick<TableDiff, "columns" | "added" | "removed">} diff @param {readonly string[]} key names of columns
 * @returns {DiffRow[]}
 */
export function pairRows({ columns, added, removed }, key) {
  const places = key.map((name) => columns.findIndex((column) => column.name === name)).filter((n) => n >= 0);
  const whole = (/** @type {"+" | "-"} */ sign, /** @type {readonly unknown[]} */ row) => ({
    sign,
    cells: row.map((value) => ({
      before: sign === "-" ? value : null,
      after: sign === "+" ? value : null,
      isChanged: false,
    })),
  });
  if (places.length === 0)
    return [...removed.map((row) => whole("-", row)), ...added.map((row) => whole("+", row))];
  const keyOf = (/** @type {readonly unknown[]} */ row) => JSON.stringify(places.map((n) => row[n]));
  const [before, after] = [byKey(removed, keyOf), byKey(added, keyOf)];
  /** @type {DiffRow[]} */
  const rows = [];
  for (const row of removed) {
    const [now, ...others] = after.get(keyOf(row)) ?? [];
    if (now === undefined || others.length > 0 || before.get(keyOf(row))?.length !== 1)
      rows.push(whole("-", row));
    else
      rows.push({
        sign: "~",
        cells: row.map((value, n) => ({
          before: value,
          after: now[n],
          isChanged: JSON.stringify(value) !== JSON.stringify(now[n]),
        })),
      });
  }
  for (const row of added)
    if (before.get(keyOf(row))?.length !== 1 || after.get(keyOf(row))?.length !== 1)
      rows.push(whole("+", row));
  return rows;
}

/** @param {readonly (readonly unknown[])[]} rows @param {(row: readonly unknown[]) => string} keyOf */
function byKey(rows, keyOf) {
  /** @type {Map<string, (readonly unknown[])[]>} */
  const found = new Map();
  for (const row of rows) found.set(keyOf(row), [...(found.get(keyOf(row)) ?? []), row]);
  return found;
}

/** `3 -> 7: 1,204 rows added, 0 removed, 2 changed; column note added; 5 files added, 3 removed`. @param {TableDiff} diff @param {readonly DiffRow[]} rows */
export function summary(diff, rows) {
  const { from, to, rowsAdded, rowsRemoved, filesAdded, filesRemoved, bytesAdded, bytesRemoved, truncated } =
    diff;
  const changed = rows.filter(({ sign }) => sign === "~").length;
  const isSame = rowsAdded === "0" && rowsRemoved === "0";
  const less = (/** @type {string} */ n) => String(BigInt(n) - BigInt(changed));
  const told = changed > 0 ? `, ${count(changed)} changed${truncated ? " among those listed" : ""}` : "";
  const parts = [
    isSame
      ? "no row differs"
      : `${many(less(rowsAdded), "row")} added, ${count(less(rowsRemoved))} removed${told}`,
    ...diff.schema.map(({ field, change, from: old, to: now }) =>
      change === "changed" ? `column ${field} changed from ${old} to ${now}` : `column ${field} ${change}`,
    ),
    ...diff.properties.map(
      ({ property, from: old, to: now }) => `${property}: ${old ?? "not set"} became ${now ?? "not set"}`,
    ),
    isSame && filesRemoved > 0
      ? `${many(filesRemoved, "file")} became ${count(filesAdded)}`
      : `${many(filesAdded, "file")} added (${bytes(bytesAdded)}), ${count(filesRemoved)} removed (${bytes(bytesRemoved)})`,
  ];
  return `${from} \u2192 ${to}: ${parts.join("; ")}`;
}

/** Columns that name a row, as far as names tell; none is a choice, too. @param {readonly { name: string, type: string }[]} columns */
export function likelyKey(columns) {
  const names = columns.map(({ name }) => name);
  return names.find((name) => /^id$/i.test(name)) ?? names.find((name) => /_id$/i.test(name)) ?? null;
}
