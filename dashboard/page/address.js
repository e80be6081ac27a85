/** The page's address and the state it stands for: every view can be linked, reloaded and gone back to. */

/** @typedef {"rows" | "schema" | "files" | "sql"} Tab */
/** @typedef {{ table: string | null, tab: Tab, version: number | null, sql: string | null }} Route */

const TABLE_TABS = /** @type {const} */ (["schema", "files"]);

/** `version` null is live; `sql` is set on /sql only. Never throws. @param {string} address @returns {Route} */
export function parseAddress(address) {
  const url = new URL(address, "http://page");
  const number = url.searchParams.get("version") ?? "";
  const version = /^\d{1,15}$/.test(number) ? Number(number) : null;
  if (url.pathname === "/sql")
    return {
      table: url.searchParams.get("table") || null,
      tab: "sql",
      version,
      sql: url.searchParams.get("q") ?? "",
    };
  const [, t, name = "", rest] = url.pathname.split("/");
  if (t !== "t") return { table: null, tab: "rows", version: null, sql: null };
  const tab = TABLE_TABS.find((known) => known === rest) ?? "rows";
  return { table: decode(name) || null, tab, version, sql: null };
}

/** The shortest address of a state. @param {Route} route */
export function formatAddress({ table, tab, version, sql }) {
  const search = new URLSearchParams();
  if (tab === "sql") {
    if (sql) search.set("q", sql);
    if (table !== null) search.set("table", table);
  }
  if (version !== null && table !== null) search.set("version", String(version));
  const query = search.size > 0 ? `?${search}` : "";
  if (tab === "sql") return `/sql${query}`;
  if (table === null) return "/";
  return `/t/${encodeURIComponent(table)}${tab === "rows" ? "" : `/${tab}`}${query}`;
}

/** @param {string} text */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
