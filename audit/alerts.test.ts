import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Registry } from "prom-client";
import { parse } from "yaml";
import { silentLog } from "../core/log.ts";
import { until } from "../test/support/until.ts";
import {
  ALERT_LIMITS,
  AUDIT_RULES,
  type AuditAlert,
  type AuditLook,
  alertKey,
  auditAlerts,
  changedAlerts,
} from "./alerts.ts";
import { answerFor } from "./answer.ts";
import type { Beat, TopicFacts } from "./findings.ts";
import { WINDOW_MS } from "./header.ts";
import { createAuditMetrics } from "./metrics.ts";
import { auditRulesFile } from "./rules-file.ts";
import { watchAudit } from "./watch.ts";

const DAY = Date.UTC(2026, 10, 29);
const SPAN = { startMs: DAY, endMs: DAY + 24 * 3_600_000 };
const NOON = DAY + 12 * 3_600_000;
const run = { origin: "shop", epoch: DAY };

function lookAt(nowMs: number, more: Partial<TopicFacts>, rest: Partial<AuditLook> = {}): AuditLook {
  const beat: Beat = {
    ...{ ...run, host: "here", sentAtMs: nowMs - 5_000, receivedAtMs: nowMs - 4_990 },
    ...{ lowEventTimeMs: nowMs - 5_000, isClosed: false },
  };
  const facts: TopicFacts = {
    ...{ topic: "orders", table: "orders", statements: [], beats: [beat], settled: [], expected: ["shop"] },
    ...{ retired: [], lag: 0, waitingSinceMs: undefined, gone: 0, forgottenMs: undefined },
    ...more,
  };
  return { atMs: nowMs, answers: [answerFor(facts, SPAN, nowMs)], skews: [], late: [], rollUps: [], ...rest };
}
const stated = (windowMs: number, count: number) => ({
  ...{
    ...run,
    windowMs,
    count,
    checksum: count,
    sentAtMs: windowMs + WINDOW_MS + 1,
    first: 0,
    last: count - 1,
  },
});
const settled = (windowMs: number, received: number) => ({
  ...{ ...run, windowMs, received, letters: 0, checksum: received, last: 0 },
});
const told = (look: AuditLook) =>
  auditAlerts(look).map(({ name, origin, cause, windowMs, count }) => ({
    name,
    origin,
    cause,
    windowMs,
    count,
  }));

test("a window is told of when it is still open a quarter of an hour after its end, and no earlier", () => {
  const windowMs = NOON - 4 * WINDOW_MS;
  const lost = { statements: [stated(windowMs, 9)], settled: [settled(windowMs, 6)] };
  const dueMs = windowMs + WINDOW_MS + ALERT_LIMITS.incompleteAfter;
  assert.deepEqual(told(lookAt(dueMs - 1, lost)), []);
  assert.deepEqual(told(lookAt(dueMs, lost)), [
    { name: "LabAuditIncomplete", origin: "shop", cause: "lost", windowMs, count: 3 },
  ]);
});

test("windows of one cause are one alert, from the first of them on, with all their messages", () => {
  const all = [0, 1, 2].map((n) => DAY + n * WINDOW_MS);
  const look = lookAt(NOON, {
    statements: all.map((windowMs) => stated(windowMs, 5)),
    settled: all.map((windowMs) => settled(windowMs, 4)),
  });
  const [alert, ...others] = auditAlerts(look);
  assert.deepEqual([alert?.windowMs, alert?.count, alert?.windows, others], [DAY, 3, 3, []]);
});

test("an origin that is silent is told of after a minute, and its open windows after a quarter of an hour", () => {
  const last = (agoMs: number): Partial<TopicFacts> => {
    const atMs = NOON - agoMs;
    return {
      beats: [
        { ...run, host: "h", sentAtMs: atMs, receivedAtMs: atMs, lowEventTimeMs: atMs, isClosed: false },
      ],
    };
  };
  assert.deepEqual(told(lookAt(NOON, last(59_000))), []);
  assert.deepEqual(
    told(lookAt(NOON, last(61_000))).map(({ name }) => name),
    ["LabAuditSilent"],
  );
  const hours = auditAlerts(lookAt(NOON, last(2 * 3_600_000)));
  assert.deepEqual(
    hours.map(({ name, cause, windows, windowMs }) => [name, cause, windows, windowMs]),
    [
      ["LabAuditIncomplete", "dead", 21, NOON - 2 * 3_600_000],
      ["LabAuditSilent", "silent", 0, NOON - 2 * 3_600_000],
    ],
  );
});

test("a double is told of at once, a clock that is off and a window that was stated anew while they are recent", () => {
  const windowMs = NOON - WINDOW_MS;
  const double = { statements: [stated(windowMs, 5)], settled: [settled(windowMs, 6)] };
  const closed = [
    { ...run, host: "h", sentAtMs: NOON, receivedAtMs: NOON, lowEventTimeMs: NOON, isClosed: true },
  ];
  assert.deepEqual(told(lookAt(NOON, { ...double, beats: closed })), [
    { name: "LabAuditDoubled", origin: "shop", cause: "doubled", windowMs, count: 1 },
  ]);
  const clock = (skewMs: number) => [{ topic: "orders", origin: "shop", skewMs, atMs: NOON }];
  const off = (skewMs: number) =>
    auditAlerts(lookAt(NOON, {}, { skews: clock(skewMs) })).map(({ message }) => message);
  assert.deepEqual(off(30_000), []);
  assert.deepEqual(off(31_000), ["its clock is 31 s ahead of the broker's"]);
  assert.deepEqual(off(-7_200_000), ["its clock is 7200 s behind the broker's"]);
  const late = (agoMs: number) =>
    told(
      lookAt(
        NOON,
        {},
        { late: [{ topic: "orders", origin: "shop", windowMs, count: 4, atMs: NOON - agoMs }] },
      ),
    );
  assert.deepEqual(late(1), [{ name: "LabAuditLate", origin: "shop", cause: "late", windowMs, count: 4 }]);
  assert.deepEqual(late(ALERT_LIMITS.lateFor + 1), []);
});

test("commits that wait for two days to be rolled up are told of", () => {
  const behind = (sinceMs: number) =>
    auditAlerts(lookAt(NOON, {}, { rollUps: [{ topic: "orders", table: "orders", sinceMs }] })).map(
      ({ name }) => name,
    );
  assert.deepEqual(behind(NOON - ALERT_LIMITS.rollUpBehind), []);
  assert.deepEqual(behind(NOON - ALERT_LIMITS.rollUpBehind - 1), ["LabAuditRollUpBehind"]);
});

test("the rules are about numbers that are served, and a number beyond the limit is what makes the alert", async () => {
  const windowMs = NOON - 8 * WINDOW_MS;
  const quiet = { ...run, host: "h", sentAtMs: DAY, receivedAtMs: DAY, lowEventTimeMs: DAY, isClosed: false };
  const look = lookAt(
    NOON,
    {
      statements: [stated(windowMs, 9), { ...stated(windowMs, 5), origin: "web" }],
      settled: [settled(windowMs, 6), { ...settled(windowMs, 6), origin: "web" }],
      beats: [quiet, { ...quiet, origin: "web", isClosed: true }],
    },
    {
      skews: [{ topic: "orders", origin: "shop", skewMs: -40_000, atMs: NOON }],
      late: [{ topic: "orders", origin: "shop", windowMs, count: 4, atMs: NOON }],
      rollUps: [{ topic: "orders", table: "orders", sinceMs: NOON - 3 * ALERT_LIMITS.rollUpBehind }],
    },
  );
  const registry = new Registry();
  createAuditMetrics(registry)(look);
  const served = await registry.getMetricsAsJSON();
  const alerted = new Set(auditAlerts(look).map(({ name }) => name));
  for (const { name, expr } of AUDIT_RULES) {
    const [, metric = ""] = /(lab_audit_\w+)/.exec(expr) ?? [];
    const found = served.find((one) => one.name === metric);
    assert.ok(found, `${name}: ${metric} is served`);
    if (name === "LabAuditBlind") continue;
    const limit = Number(/> ([\d.]+)$/.exec(expr)?.[1]);
    assert.ok(alerted.has(name), name);
    assert.ok(
      (found.values as { value: number }[]).some(({ value }) => Math.abs(value) > limit),
      `${name}: ${JSON.stringify(found.values)} is beyond ${limit}`,
    );
  }
  const { groups } = parse(auditRulesFile()) as { groups: { rules: { alert: string; expr: string }[] }[] };
  assert.deepEqual(
    groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr])),
    AUDIT_RULES.map(({ name, expr }) => [name, expr]),
  );
});

test("numbers of what is well again are gone", async () => {
  const registry = new Registry();
  const observe = createAuditMetrics(registry);
  assert.doesNotMatch(await registry.metrics(), /^lab_audit/m, "nothing is told before the first look");
  const windowMs = NOON - 8 * WINDOW_MS;
  observe(lookAt(NOON, { statements: [stated(windowMs, 9)] }));
  const count = async () => {
    const served = await registry.getMetricsAsJSON();
    return served.find(({ name }) => name === "lab_audit_incomplete_windows")?.values.length;
  };
  assert.equal(await count(), 1);
  observe(lookAt(NOON, { statements: [stated(windowMs, 9)], settled: [settled(windowMs, 9)] }));
  assert.equal(await count(), 0);
});

test("an alert is told once while its cause lasts, again after a failure, and its end when it is over", async (t) => {
  const windowMs = DAY;
  const lost = (count: number) =>
    lookAt(NOON, { statements: [stated(windowMs, 9)], settled: [settled(windowMs, count)] });
  const looks = [lost(6), lost(6), lost(7), lookAt(NOON, {}), lookAt(NOON, {})];
  const ending = new AbortController();
  t.after(() => ending.abort());
  const heard: string[] = [];
  const kept: number[] = [];
  let refused = 1;
  const watch = watchAudit({
    look: async () => {
      const look = looks.shift();
      if (looks.length === 3 && refused-- > 0) throw new Error("an outage");
      return look ?? lookAt(NOON, {});
    },
    async tell({ name }, status) {
      heard.push(`${status} ${name}`);
      if (heard.length === 1) throw new Error("nobody listens");
    },
    keepTold: async (told) => void kept.push(told.length),
    ...{ log: silentLog, everyMs: 1, signal: ending.signal },
  });
  await until("the end is told", () => heard.some((line) => line.startsWith("resolved")), { everyMs: 5 });
  ending.abort();
  await watch.ended;
  assert.deepEqual(heard, [
    "firing LabAuditIncomplete",
    "firing LabAuditIncomplete",
    "resolved LabAuditIncomplete",
  ]);
  assert.deepEqual(kept, [1, 0]);
});

test("what began and what ended is told by the cause, whatever its count is now", () => {
  const alert = (count: number, cause = "lost"): AuditAlert => ({
    ...{
      name: "LabAuditIncomplete",
      severity: "critical",
      topic: "t",
      table: "t",
      origin: "o",
      stage: "ingest",
    },
    ...{ cause, windowMs: DAY, count, windows: 1, sinceMs: DAY, message: "" },
  });
  assert.deepEqual(changedAlerts([alert(1)], [alert(2)]), { began: [], ended: [] });
  const { began, ended } = changedAlerts([alert(1)], [alert(1, "gone")]);
  assert.deepEqual(
    [began.map(alertKey), ended.map(alertKey)],
    [[alertKey(alert(1, "gone"))], [alertKey(alert(1))]],
  );
});

test("compose/audit-alerts.yml holds the same rules", async () => {
  const written = await readFile(new URL("../compose/audit-alerts.yml", import.meta.url), "utf8");
  assert.equal(written, auditRulesFile(), "lab audit rules > compose/audit-alerts.yml");
});

test("docs/audit.md names each rule", async () => {
  const page = await readFile(new URL("../docs/audit.md", import.meta.url), "utf8");
  for (const { name } of AUDIT_RULES) assert.ok(page.includes(`\`${name}\``), name);
});
