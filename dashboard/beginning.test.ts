/** The page before there is a table: what is true, and what to do. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { FlowStream } from "./flow.ts";

// The page's modules are plain JavaScript.
const load = (name: string) => import(new URL(`./page/${name}`, import.meta.url).href);
const { beginningOf, whyUncounted } = await load("beginning.js");
const { initialState } = await load("state.js");

const state = (patch: object) => ({ ...initialState("http://page/", 0), ...patch });
const live = { status: "live", heardAt: 1, retryAt: null };
const none = { at: "", tables: [], problem: null };
const flowOf = (...streams: Partial<FlowStream>[]) => ({ at: "", problem: null, streams });
const orders = {
  ...{ topic: "orders", table: "orders" },
  ingesters: [{ name: "ingest" }] as FlowStream["ingesters"],
};

test("a page that hears from the lab does not say that it connects", () => {
  assert.equal(beginningOf(state({}))?.picker, "Connecting...");
  const found = beginningOf(state({ connection: live }));
  assert.deepEqual([found?.picker, found?.verdict], ["Looking...", "Not counted yet"]);
});

test("without tables the page says what there is to do: to begin, to produce, to wait", () => {
  const told = (flow: object | null) => beginningOf(state({ connection: live, tables: none, flow }))!;
  assert.equal(told(null).verdict, "Not counted yet");
  assert.deepEqual(
    told(flowOf()).commands.map((command: string) => command.split(" ").slice(0, 2).join(" ")),
    ["lab produce", "lab ingest"],
  );
  const unread = told(flowOf({ ...orders, records: "4", ingesters: [] }));
  assert.match(unread.text, /^4 messages of orders are in Kafka, and nobody reads them/);
  assert.deepEqual(unread.commands, ["lab ingest --topic orders"]);
  const quiet = told(flowOf({ ...orders, records: "0" }));
  assert.equal(quiet.verdict, "Nothing produced yet");
  assert.match(quiet.commands.join(), /^lab produce --topic orders /);
  const waiting = told(
    flowOf({ ...orders, records: "1204" }, { topic: "other", records: null, ingesters: [] }),
  );
  assert.deepEqual([waiting.picker, waiting.verdict], ["No tables yet", "Nothing committed yet"]);
  assert.match(waiting.text, /^1,204 messages of orders wait for the first commit/);
  assert.deepEqual(waiting.commands, []);
});

test("tables that cannot be read are not told to be none", () => {
  const problem = { code: "STORE_UNREACHABLE", message: "the store does not answer" };
  const found = beginningOf(state({ connection: live, tables: { ...none, problem } }));
  assert.equal(found?.verdict, "Cannot tell: no table can be read");
  assert.match(found?.text ?? "", /STORE_UNREACHABLE/);
});

test("a table without a ledger is not counted yet where a stream fills it, and has nothing to be counted against where none does", () => {
  const tables = { ...none, tables: [{ name: "orders" }, { name: "old" }] };
  const at = (table: string, flow: object | null = flowOf(orders)) =>
    whyUncounted(state({ connection: live, tables, flow, route: { ...state({}).route, table } }));
  assert.equal(beginningOf(state({ connection: live, tables })), null);
  assert.equal(at("orders"), "Not counted yet");
  assert.equal(at("orders__dead_letters"), "Not counted yet");
  assert.equal(at("old", null), "Not counted yet");
  assert.match(at("old"), /^No stream fills this table/);
});
