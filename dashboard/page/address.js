/** The page's address and the state it stands for: every view can be linked, reloaded and gone back to. */

/** @typedef {"rows" | "schema" | "files" | "compare" | "commit" | "sql" | "letters" | "upkeep" | "break"} Tab */
/**
 * `version` null is live; `from` and `to` are set on compare only; `sql` is set on /sql only. `point` is a time, or PARTITION:OFFSET, whose version
 * is still to be found.
 * @typedef {{ table: string | null, tab: Tab, version: number | null, from: number | null, to: number | null, sql: string | null, point: string | null }} Route
 */

const TABLE_TABS = /** @type {const} */ ([
  "schema",
  "files",
  "compare",
  "commit",
  "letters",
  "upkeep",
  "break",
]);

/** @type {Route} */
export const NOWHERE = {
  table: null,
  tab: "rows",
  version: null,
  from: null,
  to: null,
  sql: null,
  point: null,
};

/** Never throws. @param {string} address @returns {Route} */
export function parseAddress(address) {
  const url = new URL(address, "http://page");
  const asked = url.searchParams;
  const version = numberOf(asked.get("version"));
  if (url.pathname === "/sql")
    return { ...NOWHERE, table: asked.get("table") || null, tab: "sql", version, sql: asked.get("q") ?? "" };
  const [, t, name = "", rest, place = null] = url.pathname.split("/");
  if (t !== "t") return NOWHERE;
  /** @type {Tab} */
  const tab = TABLE_TABS.find((known) => known === rest) ?? "rows";
  /** @type {Route} */
  const route = { ...NOWHERE, table: decode(name) || null, tab, version };
  if (tab === "compare")
    return { ...route, from: numberOf(asked.get("from")), to: numberOf(asked.get("to")) };
  if (tab === "commit" && numberOf(place) !== null) return { ...route, version: numberOf(place) };
  const point = asked.get("at") ?? asked.get("offset");
  return version === null && point ? { ...route, point } : route;
}

/** The shortest address of a state. @param {Route} route */
export function formatAddress({ table, tab, version, from, to, sql, point }) {
  const search = new URLSearchParams();
  if (tab === "sql") {
    if (sql) search.set("q", sql);
    if (table !== null) search.set("table", table);
  }
  if (table !== null && tab === "compare") {
    if (from !== null) search.set("from", String(from));
    if (to !== null) search.set("to", String(to));
  }
  if (version !== null && table !== null && tab !== "commit") search.set("version", String(version));
  else if (point !== null && table !== null) search.set(/^\d+:\d+$/.test(point) ? "offset" : "at", point);
  const query = search.size > 0 ? `?${search}` : "";
  if (tab === "sql") return `/sql${query}`;
  if (table === null) return "/";
  const place = tab === "commit" && version !== null ? `/${version}` : "";
  return `/t/${encodeURIComponent(table)}${tab === "rows" ? "" : `/${tab}`}${place}${query}`;
}

/** @param {string | null} text */
const numberOf = (text) => (/^\d{1,15}$/.test(text ?? "") ? Number(text) : null);

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
