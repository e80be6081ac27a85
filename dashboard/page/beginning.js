/** The page before there is a table to look at: what is true by then, and what brings the first one. Pure. */

import { streamOf } from "./flow-words.js";
import { many } from "./format.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {{ picker: string, verdict: string, text: string, commands: readonly string[] }} Beginning */

/** Null once there are tables. @param {Pick<State, "tables" | "flow" | "connection">} state @returns {Beginning | null} */
export function beginningOf({ tables, flow, connection }) {
  if (tables === null) {
    const picker = connection.status === "live" ? "Looking..." : "Connecting...";
    return { picker, verdict: "Not counted yet", text: "", commands: [] };
  }
  if (tables.tables.length > 0) return null;
  if (tables.problem !== null) {
    const text = `The tables cannot be read: ${tables.problem.message} (${tables.problem.code})`;
    return { picker: "Tables unreadable", verdict: "Cannot tell: no table can be read", text, commands: [] };
  }
  const picker = "No tables yet";
  if (flow === null) return { picker, verdict: "Not counted yet", text: "", commands: [] };
  const read = flow.streams.filter(({ ingesters }) => ingesters.length > 0);
  const [first] = read;
  const full = flow.streams.find(hasRecords);
  if (first === undefined && full !== undefined)
    return {
      ...{ picker, verdict: "Nothing to count: nothing is ingested" },
      text: `${many(full.records ?? "0", "message")} of ${full.topic} are in Kafka, and nobody reads them. This makes a table of them:`,
      commands: [`lab ingest --topic ${full.topic}`],
    };
  if (first === undefined)
    return {
      ...{ picker, verdict: "Nothing to count: nothing is ingested" },
      text: "No table is here yet, and nothing is ingested. These two make one, each in a terminal:",
      commands: [
        "lab produce --topic orders --source orders --rate 50/s",
        "lab ingest --topic orders --partition-by date",
      ],
    };
  const waiting = read.filter(hasRecords);
  if (waiting.length === 0)
    return {
      ...{ picker, verdict: "Nothing produced yet" },
      text: `${read.map(({ topic }) => topic).join(", ")}: no messages yet. The first ones make the table. This sends some:`,
      commands: [`lab produce --topic ${first.topic} --source orders --rate 50/s`],
    };
  const told = waiting.map(({ topic, records }) => `${many(records ?? "0", "message")} of ${topic}`);
  return {
    ...{ picker, verdict: "Nothing committed yet" },
    text: `${told.join(", ")} wait for the first commit. It makes the table, within seconds.`,
    commands: [],
  };
}

/** @param {import("../flow.ts").FlowStream} stream */
const hasRecords = ({ records }) => records !== null && records !== "0";

/** Why a table has no ledger. @param {Pick<State, "tables" | "flow" | "connection" | "route">} state */
export function whyUncounted(state) {
  const beginning = beginningOf(state);
  if (beginning !== null) return beginning.verdict;
  const { flow, route } = state;
  const isFilled = flow === null || streamOf(flow, route.table) !== null;
  return isFilled ? "Not counted yet" : "No stream fills this table: there is no topic to compare it with";
}
