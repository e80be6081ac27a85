/** The bar on top: which table, live or pinned, whether the page hears from the lab, and the theme. */

import { beginningOf } from "./beginning.js";
import { byId, h, keepInLine, setAttribute, setText } from "./dom.js";
import { clock, count, duration } from "./format.js";
import { currentVersion, historyOf, summaryOf, view } from "./state.js";
import { connectTheme } from "./theme.js";

/**
 * @param {{ choose: (table: string) => void, pin: () => void, goLive: () => void, retryNow: () => void, themeChanged: () => void }} act
 */
export function headerView(act) {
  const picker = /** @type {HTMLSelectElement} */ (byId("table-picker"));
  const live = /** @type {HTMLButtonElement} */ (byId("live"));
  picker.addEventListener("change", () => act.choose(picker.value));
  live.addEventListener("click", () => (live.dataset.state === "pinned" ? act.goLive() : act.pin()));
  byId("retry").addEventListener("click", act.retryNow);
  connectTheme(act.themeChanged);

  const showTables = view(
    (state) => [state.tables, state.route.table, beginningOf(state)?.picker ?? null],
    (tables, chosen, first) => {
      const names = tables?.tables.map((table) => table.name) ?? [];
      picker.disabled = names.length === 0;
      const unknown = chosen !== null && !names.includes(chosen) ? [chosen] : [];
      keepInLine(
        picker,
        first === null ? [...names, ...unknown] : [first],
        (name) => name,
        () => h("option"),
        (option, name) => {
          setText(option, name);
          setAttribute(option, "value", name);
        },
      );
      if (chosen !== null && first === null) picker.value = chosen;
    },
  );

  const showLive = view(
    (state) => [state.route.version, currentVersion(state), newest(state)],
    (pinned, current, latest) => {
      live.disabled = current === null;
      live.dataset.state = pinned === null ? "live" : "pinned";
      setAttribute(live, "aria-pressed", String(pinned === null));
      const newer = (latest ?? 0) - (current ?? 0);
      const text =
        pinned === null
          ? "Live"
          : `Pinned to version ${current ?? pinned}${newer > 0 ? `, ${count(newer)} newer` : ""}`;
      byId("live-text").replaceChildren(text, ...(pinned === null ? [] : [h("strong", {}, "Go live")]));
      live.title =
        pinned === null
          ? "Follows the newest version. Press to stay at this one."
          : "Back to the newest version";
    },
  );

  const showConnection = view(
    ({ connection, clock: now }) => [connection, connection.status === "live" ? 0 : now],
    (connection, now) => {
      const { status, heardAt, retryAt } = connection;
      document.documentElement.dataset.connection = status;
      const age = heardAt === null ? "" : duration(now - heardAt);
      const wait = Math.ceil(Math.max(0, (retryAt ?? 0) - now) / 1000);
      const asOf = heardAt === null ? "" : `, as of ${clock(new Date(heardAt).toISOString())}`;
      const text = {
        connecting: "Connecting...",
        live: "Connected",
        stale: `Last update ${age} ago`,
        lost: `Disconnected${asOf}. Retrying in ${wait} s`,
      }[status];
      setText(byId("connection"), text);
      byId("retry").hidden = status !== "lost";
    },
  );

  return (/** @type {import("./state.js").State} */ state) => {
    showTables(state);
    showLive(state);
    showConnection(state);
  };
}

/** @param {import("./state.js").State} state */
const newest = (state) => summaryOf(state)?.version ?? historyOf(state)?.entries.at(-1)?.version ?? null;
