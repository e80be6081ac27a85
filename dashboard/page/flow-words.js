/** The four stations of a stream in words: what each is, what it does now, and the silences told apart. Pure. */

import { ownerOf } from "./beside.js";
import { bytes, clock, count, duration, many, rate } from "./format.js";

/**
 * @typedef {import("../flow.ts").FlowStream} FlowStream
 * @typedef {"ok" | "quiet" | "paused" | "dead" | "none"} Condition
 * @typedef {{ label: string, name: string, condition: Condition, value: string, note: string }} Station
 */

/** Quiet is told after this long: a producer of one message a second is not quiet. */
const QUIET_AFTER_MS = 10_000;

/**
 * Producer, topic, ingester and table, in this order.
 * @param {FlowStream | null} stream @param {import("../tables.ts").TableSummary | null} table @param {number} now
 * @returns {Station[]}
 */
export function stationsOf(stream, table, now) {
  const isFirst = table === null;
  return [producerOf(stream, now), topicOf(stream, isFirst, now), ingesterOf(stream, now), tableOf(table)];
}

/** The stream that fills a table, and what lies beside it. @param {import("../flow.ts").Flow | null} flow @param {string | null} table */
export function streamOf(flow, table) {
  if (flow === null || table === null) return null;
  const names = flow.streams.map((stream) => stream.table ?? "");
  const owner = ownerOf(table, names);
  return (
    flow.streams.find((stream) => stream.table === table) ??
    flow.streams.find((stream) => stream.table === owner) ??
    null
  );
}

/** @param {import("../flow.ts").FlowProducer | import("../flow.ts").FlowIngester} member */
const silence = ({ status, lastAnswer, pid }) =>
  `${status === "gone" ? "ended" : "not answering"}${lastAnswer === null ? "" : ` since ${clock(lastAnswer)}`}, pid ${pid ?? "?"}`;

/** @param {readonly { name: string }[]} members @param {string} word */
const named = (members, word) =>
  members.length === 1 ? (members[0]?.name ?? "") : many(members.length, word);

/** @param {FlowStream | null} stream @param {number} now @returns {Station} */
function producerOf(stream, now) {
  const producers = stream?.producers ?? [];
  if (producers.length === 0)
    return { label: "Producer", name: "none of the lab", condition: "none", value: "-", note: "" };
  const quiet = quietFor(stream, now);
  const failing = producers.find((producer) => producer.status !== "answering" && !producer.done);
  const perSecond = producers.reduce(
    (/** @type {number | null} */ sum, p) => (p.perSecond === null ? sum : (sum ?? 0) + p.perSecond),
    null,
  );
  const acked = String(producers.reduce((sum, producer) => sum + BigInt(producer.acked), 0n));
  const isDone = producers.every((producer) => producer.done);
  const error = producers.find((producer) => producer.lastError !== null && perSecond === 0)?.lastError;
  /** @type {Pick<Station, "condition" | "note">} */
  const doing =
    failing !== undefined
      ? { condition: "dead", note: silence(failing) }
      : isDone
        ? { condition: "quiet", note: `finished, ${count(acked)} acked` }
        : error
          ? { condition: "paused", note: `${error.message} (${error.code})` }
          : { condition: quiet === null ? "ok" : "quiet", note: `${count(acked)} acked` };
  return { label: "Producer", name: named(producers, "producer"), value: rate(perSecond), ...doing };
}

/** @param {FlowStream | null} stream @param {number} now */
function quietFor(stream, now) {
  const ms = stream?.quietSince ? now - Date.parse(stream.quietSince) : 0;
  return ms > QUIET_AFTER_MS ? ms : null;
}

/** @param {FlowStream | null} stream @param {boolean} isFirst There is no table yet. @param {number} now @returns {Station} */
function topicOf(stream, isFirst, now) {
  if (stream === null)
    return {
      label: "Topic",
      name: "none",
      condition: "none",
      value: "-",
      note: isFirst ? "nothing is ingested" : "No stream fills this table",
    };
  const quiet = quietFor(stream, now);
  const partitions = many(stream.partitions.length, "partition");
  /** @type {Pick<Station, "condition" | "note">} */
  const state =
    stream.records === "0"
      ? { condition: "quiet", note: `no messages yet, ${partitions}` }
      : quiet === null
        ? {
            condition: stream.producedPerSecond === null ? "none" : "ok",
            note: `${many(stream.records, "message")}, ${partitions}`,
          }
        : { condition: "quiet", note: `quiet ${duration(quiet)}, ${many(stream.records, "message")}` };
  return { label: "Topic", name: stream.topic, value: `${rate(stream.producedPerSecond)} in`, ...state };
}

/** @param {FlowStream | null} stream @param {number} now @returns {Station} */
function ingesterOf(stream, now) {
  const ingesters = stream?.ingesters ?? [];
  if (stream === null || ingesters.length === 0)
    return {
      label: "Ingester",
      name: "none",
      condition: "none",
      value: "-",
      note: stream === null ? "" : "nobody reads this topic",
    };
  const name = named(ingesters, "ingester");
  const lag = `lag ${count(stream.lag)}`;
  const failing = ingesters.find((ingester) => ingester.status !== "answering");
  if (failing !== undefined)
    return { label: "Ingester", name, condition: "dead", value: lag, note: silence(failing) };
  const failed = ingesters.find((ingester) => ingester.state === "failed");
  if (failed !== undefined) {
    const { lastError, reason } = failed;
    const why =
      lastError === null ? (reason ?? "no reason given") : `${lastError.code}: ${lastError.message}`;
    return { label: "Ingester", name, condition: "dead", value: lag, note: `failed: ${why}` };
  }
  const paused = ingesters.find((ingester) => ingester.state === "paused" || ingester.state === "stopped");
  if (paused !== undefined) {
    const why = paused.reason ?? paused.lastError?.message ?? "no reason given";
    return { label: "Ingester", name, condition: "paused", value: lag, note: `${paused.state}: ${why}` };
  }
  const waiting = ingesters.reduce((sum, ingester) => sum + ingester.buffer.rows, 0);
  const states = [...new Set(ingesters.map((ingester) => ingester.state))].filter(
    (state) => state !== "running",
  );
  const isBehind = stream.lag !== "0" && stream.lagSeconds !== null;
  const facts = [
    ...states,
    `${rate(stream.ingestedPerSecond)} out`,
    ...(isBehind ? [`${duration(Number(stream.lagSeconds) * 1000)} behind`] : []),
    `${count(waiting)} buffered`,
  ];
  const condition = quietFor(stream, now) !== null && stream.lag === "0" ? "quiet" : "ok";
  return {
    label: "Ingester",
    name,
    condition,
    value: lag,
    note: facts.join(", "),
  };
}

/** @param {import("../tables.ts").TableSummary | null} table @returns {Station} */
function tableOf(table) {
  if (table === null) return { label: "Table", name: "none yet", condition: "none", value: "-", note: "" };
  if (table.problem !== null)
    return {
      label: "Table",
      name: table.name,
      condition: "paused",
      value: "-",
      note: `${table.problem.message} (${table.problem.code})`,
    };
  const rows = table.rows === null ? "rows not told" : many(table.rows, "row");
  return {
    ...{ label: "Table", name: table.name, condition: "ok", value: `version ${count(table.version)}` },
    note: `${rows}, ${many(table.numFiles, "file")}, ${bytes(table.sizeBytes)}`,
  };
}

/** What went wrong last with a stream, also once it is well again; empty where nothing did. @param {FlowStream | null} stream */
export function lastErrorText(stream) {
  const errors = [...(stream?.ingesters ?? []), ...(stream?.producers ?? [])].flatMap(
    ({ lastError }) => lastError ?? [],
  );
  const [last] = errors.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  return last === undefined ? "" : `Last error ${clock(last.at)}: ${last.message} (${last.code})`;
}
