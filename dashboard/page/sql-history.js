/** Statements that were run, newest first, kept in this browser. */

const KEY = "sql-history";
const MOST = 200;

/** @returns {string[]} */
export function readHistory() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found.filter((text) => typeof text === "string") : [];
  } catch {
    return [];
  }
}

/** @param {string} sql */
export function remember(sql) {
  const text = sql.trim();
  const all = [text, ...readHistory().filter((known) => known !== text)].slice(0, MOST);
  localStorage.setItem(KEY, JSON.stringify(all));
  return all;
}

export const forgetAll = () => localStorage.removeItem(KEY);
