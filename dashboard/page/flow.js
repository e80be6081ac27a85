/** Flow and tables: what moves now, from the producer to the table, and how far each table is. */

import { formatAddress, NOWHERE } from "./address.js";
import { besideOf } from "./beside.js";
import { byId, drawSpark, h, keepInLine, setAttribute, setText, sparkline } from "./dom.js";
import { lastErrorText, stationsOf, streamOf } from "./flow-words.js";
import { clock, count, duration, rate } from "./format.js";
import { summaryOf, view } from "./state.js";

/** @typedef {import("../flow.ts").FlowPartition} Partition */

const SPARK_SECONDS = 60;

export function flowView() {
  const trail = sparkTrail();

  const showStations = view(
    (state) => [state.flow, summaryOf(state), state.route.table, state.clock],
    (flow, table, name, now) => {
      const stream = shownStream(flow, name);
      const stations = flow === null && table === null ? [] : stationsOf(stream, table, now);
      const isFlowing = (stream?.producedPerSecond ?? 0) > 0;
      keepInLine(
        byId("stations"),
        stations,
        (station) => station.label,
        makeStation,
        (element, station) => {
          element.dataset.condition = station.condition;
          element.dataset.flowing = String(isFlowing && station.condition === "ok");
          for (const part of /** @type {const} */ (["label", "name", "value", "note"])) {
            const place = element.querySelector(`.${part}`);
            if (place !== null) setText(place, station[part]);
          }
        },
      );
      const note = byId("flow-note");
      const problem = flow?.problem ? `${flow.problem.message} (${flow.problem.code})` : null;
      const text = problem ?? lastErrorText(stream);
      note.className = problem === null ? "note past" : "note";
      note.title = text;
      setText(note, text);
    },
  );

  const showPartitions = view(
    (state) => [state.flow, state.route.table],
    (flow, name) => {
      const stream = shownStream(flow, name);
      trail.keep(stream, flow?.at ?? "");
      const partitions = stream?.partitions ?? [];
      keepInLine(
        byId("partitions"),
        partitions,
        (p) => `${stream?.topic}-${p.partition}`,
        makePartition,
        (row, p) => {
          const [head, settled, end, lag, spark, seconds, owner] = [...row.children];
          const texts = [`${stream?.topic}-${p.partition}`, count(p.settled), count(p.end), count(p.lag)];
          for (const [n, cell] of [head, settled, end, lag].entries())
            if (cell) setText(cell, texts[n] ?? "");
          if (seconds)
            setText(
              seconds,
              p.lagSeconds === null ? "?" : p.lagSeconds === 0 ? "0" : duration(p.lagSeconds * 1000),
            );
          if (owner) setText(owner, p.owner ?? "nobody");
          const svg = spark?.firstElementChild;
          if (svg instanceof SVGSVGElement) drawSpark(svg, trail.of(`${stream?.topic}-${p.partition}`));
        },
      );
    },
  );

  /** The table that the list was last scrolled to. @type {string | null} */
  let inSight = null;
  const showTables = view(
    ({ tables, flow, route }) => [tables, flow, route.table],
    (list, flow, chosen) => {
      const note = list?.problem ? `${list.problem.message} (${list.problem.code})` : "";
      setText(byId("tables-note"), note);
      keepInLine(
        byId("tables"),
        list?.tables ?? [],
        (table) => table.name,
        makeTable,
        (item, table) => {
          const link = /** @type {HTMLAnchorElement} */ (item.firstElementChild);
          const stream = flow?.streams.find(({ table: name }) => name === table.name) ?? null;
          setAttribute(link, "href", formatAddress({ ...NOWHERE, table: table.name }));
          setAttribute(link, "aria-current", table.name === chosen ? "true" : null);
          const changed = table.timestamp === null ? "" : `last commit ${clock(table.timestamp)}`;
          const owner = besideOf(
            table.name,
            (list?.tables ?? []).map(({ name }) => name),
          );
          setAttribute(link, "title", owner === null ? null : `The ${owner.holds} of ${owner.table}`);
          const lag =
            stream !== null
              ? `${rate(stream.ingestedPerSecond)}, lag ${count(stream.lag)}`
              : owner !== null
                ? `of ${owner.table}`
                : changed;
          const texts = [
            table.name,
            table.problem ? table.problem.code : `version ${count(table.version)}`,
            lag,
          ];
          for (const [n, part] of [...link.children].entries()) setText(part, texts[n] ?? "");
        },
      );
      const all = list?.tables ?? [];
      if (chosen !== inSight && all.some(({ name }) => name === chosen)) {
        inSight = chosen;
        bringIntoSight(
          byId("tables-box"),
          byId("tables"),
          all.findIndex(({ name }) => name === chosen),
        );
      }
      setText(byId("tables-empty"), list !== null && list.tables.length === 0 && !list.problem ? EMPTY : "");
    },
  );

  byId("tables-box").append(h("p", { class: "empty", id: "tables-empty" }));
  return (/** @type {import("./state.js").State} */ state) => {
    showStations(state);
    showPartitions(state);
    showTables(state);
  };
}

const EMPTY = "No tables yet.";

/** Of the box alone: the page stays where it is. @param {HTMLElement} box @param {HTMLElement} list @param {number} n */
function bringIntoSight(box, list, n) {
  const [item, within] = [list.children[n]?.getBoundingClientRect(), box.getBoundingClientRect()];
  if (item === undefined) return;
  if (item.top < within.top) box.scrollTop -= within.top - item.top;
  else if (item.bottom > within.bottom) box.scrollTop += item.bottom - within.bottom;
}

/** Before there is a table, the first stream that is read: it is about to make one. @param {import("../flow.ts").Flow | null} flow @param {string | null} table */
const shownStream = (flow, table) =>
  table === null
    ? (flow?.streams.find(({ ingesters }) => ingesters.length > 0) ?? flow?.streams[0] ?? null)
    : streamOf(flow, table);

const makeStation = () =>
  h(
    "li",
    {},
    h("p", { class: "label" }),
    h(
      "p",
      { class: "what" },
      h("span", { class: "glyph", "aria-hidden": "true" }),
      h("span", { class: "name" }),
    ),
    h("p", { class: "value" }),
    h("p", { class: "note" }),
  );

const makePartition = () => {
  const number = () => h("td", { class: "num" });
  const spark = h("td", { class: "spark-cell" });
  spark.append(sparkline());
  return h("tr", {}, h("th", { scope: "row" }), number(), number(), number(), spark, number(), h("td"));
};

const makeTable = () =>
  h(
    "li",
    {},
    h(
      "a",
      { class: "table-link" },
      h("span", { class: "name" }),
      h("span", { class: "num" }),
      h("span", { class: "note" }),
    ),
  );

/** Remembers the lag of each partition of one stream for the sparklines, a value a look. */
function sparkTrail() {
  /** @type {Map<string, number[]>} */
  let values = new Map();
  let last = "";
  return {
    /** @param {import("../flow.ts").FlowStream | null} stream @param {string} at */
    keep(stream, at) {
      if (stream === null || at === last) return;
      last = at;
      /** @type {Map<string, number[]>} */
      const next = new Map();
      for (const { partition, lag } of stream.partitions) {
        const key = `${stream.topic}-${partition}`;
        next.set(key, [...(values.get(key) ?? []), Number(lag ?? 0)].slice(-SPARK_SECONDS));
      }
      values = next;
    },
    /** @param {string} key */
    of: (key) => values.get(key) ?? [],
  };
}
