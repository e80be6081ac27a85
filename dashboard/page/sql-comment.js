/** Lines of a statement made comments and back. Pure. */

/**
 * The lines that the selection touches get `--` in front, or lose it where all of them have it; empty lines stay.
 * @param {string} sql @param {number} start @param {number} end of the selection
 * @returns {{ from: number, to: number, text: string, start: number, end: number }} what `text` replaces, and the selection afterwards
 */
export function toggleComment(sql, start, end) {
  const from = sql.slice(0, start).lastIndexOf("\n") + 1;
  // A selection that ends at the beginning of a line does not touch it.
  const last = end > start && sql[end - 1] === "\n" ? end - 1 : end;
  const next = sql.indexOf("\n", last);
  const to = next < 0 ? sql.length : next;
  const lines = sql.slice(from, to).split("\n");
  const full = lines.filter((line) => line.trim() !== "");
  const isOff = full.length > 0 && full.every((line) => /^\s*--/.test(line));
  const indent = Math.min(...full.map((line) => line.search(/\S/)));
  const cut = (/** @type {string} */ line) => line.replace(/^(\s*)-- ?/, "$1");
  const add = (/** @type {string} */ line) =>
    line.trim() === "" && full.length > 0
      ? line
      : `${line.slice(0, full.length > 0 ? indent : 0)}-- ${line.slice(full.length > 0 ? indent : 0)}`;
  const changed = lines.map(isOff ? cut : add);
  const grown = (/** @type {number} */ place) => {
    let left = place - from;
    let moved = place;
    for (const [n, line] of lines.entries()) {
      const by = (changed[n]?.length ?? 0) - line.length;
      const mark = isOff ? line.indexOf("--") : full.length > 0 ? indent : 0;
      if (left >= mark) moved += by < 0 ? Math.max(by, mark - left) : by;
      if (left <= line.length) break;
      left -= line.length + 1;
    }
    return moved;
  };
  return { from, to, text: changed.join("\n"), start: grown(start), end: grown(end) };
}
