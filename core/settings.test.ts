import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isLabError } from "./errors.ts";
import {
  bytes,
  choice,
  duration,
  integer,
  type Kind,
  list,
  onOff,
  pair,
  port,
  rate,
  text,
  toggle,
} from "./setting-kinds.ts";
import { defaultOf, readSettings, SETTINGS, setting, usageOf } from "./settings.ts";

const table = {
  latency: setting<number>({
    flag: "--flush-latency",
    kind: duration,
    default: 2000,
    yaml: "defaults.flush.latency",
    description: "how long rows wait",
  }),
  keys: setting<string[]>({ flag: "--key", kind: list(text), default: [], description: "keys" }),
  quiet: setting<boolean>({ flag: "--quiet", kind: toggle, default: false, description: "say less" }),
  seed: setting<number | undefined>({
    flag: "--seed",
    kind: integer(),
    default: undefined,
    description: "seed",
  }),
};
const none = { flags: {}, env: {} };

test("a flag wins over the environment, that over lab.yaml, that over the default", () => {
  const file = (path: string) => (path === "defaults.flush.latency" ? "4s" : undefined);
  const env = { LAB_FLUSH_LATENCY: "3s" };
  const latency = (sources: Parameters<typeof readSettings>[1]) => readSettings(table, sources).latency;
  assert.equal(latency({ flags: { "--flush-latency": "1s" }, env, file }), 1000);
  assert.equal(latency({ flags: {}, env, file }), 3000);
  assert.equal(latency({ flags: {}, env: { LAB_FLUSH_LATENCY: "" }, file }), 4000);
  assert.equal(latency(none), 2000);
  assert.equal(readSettings(table, none).seed, undefined);
});

test("a wrong value names where it stood, what it is and what is allowed", () => {
  const read = (sources: Parameters<typeof readSettings>[1]) => () => readSettings(table, sources);
  assert.throws(read({ flags: { "--flush-latency": "soon" }, env: {} }), (error) => {
    assert.ok(isLabError(error, "USAGE"));
    assert.equal(error.message, '--flush-latency: "soon" is no duration such as 500ms, 2s, 5m, 1h or 7d');
    assert.equal(error.exit, 2);
    return true;
  });
  assert.throws(
    read({ flags: {}, env: { LAB_SEED: "x" } }),
    (error) => isLabError(error, "CONFIG_INVALID") && error.message.startsWith("LAB_SEED: "),
  );
  assert.throws(
    read({ ...none, file: () => "x" }),
    (error) => isLabError(error, "CONFIG_INVALID") && error.message.includes("defaults.flush.latency"),
  );
});

test("a repeated flag and a list in one text mean the same", () => {
  const keys = (flag: string | string[]) => readSettings(table, { flags: { "--key": flag }, env: {} }).keys;
  assert.deepEqual(keys(["a", "b,c"]), ["a", "b", "c"]);
  assert.deepEqual(keys("a, b"), ["a", "b"]);
  assert.deepEqual(list(pair, null).parse("k=a,b"), [["k", "a,b"]]);
});

test("a declaration gives flag, variable and help", () => {
  assert.equal(table.latency.env, "LAB_FLUSH_LATENCY");
  assert.equal(SETTINGS.kafka.env, "KAFKA_BROKERS");
  assert.equal(usageOf(table.latency), "--flush-latency <duration>");
  assert.equal(usageOf(table.quiet), "--quiet");
  assert.equal(defaultOf(table.latency), "2s");
  assert.equal(defaultOf(table.seed), "");
});

test("no two settings share a flag or a variable", () => {
  const all = Object.values(SETTINGS);
  assert.equal(new Set(all.map(({ flag }) => flag)).size, all.length);
  assert.equal(new Set(all.map(({ env }) => env)).size, all.length);
});

test("values of each kind are read, and what is none is refused", () => {
  const cases: [Kind<unknown>, [string, unknown][], string[]][] = [
    [
      duration,
      [
        ["500ms", 500],
        ["2s", 2000],
        ["1.5m", 90_000],
        ["1h30m", 5_400_000],
        ["7d", 604_800_000],
      ],
      ["", "2", "s", "2 s", "-1s", "1x"],
    ],
    [
      bytes,
      [
        ["256MiB", 268_435_456],
        ["1GB", 1e9],
        ["65536", 65_536],
        ["64 KiB", 65_536],
        ["10kB", 10_000],
      ],
      ["", "MiB", "1.2.3", "5X", "-1"],
    ],
    [
      rate,
      [
        ["100/s", 100],
        ["30/m", 0.5],
        ["7", 7],
        ["2.5/s", 2.5],
      ],
      ["0", "fast", "1/w", "-1/s", ""],
    ],
    [
      integer(1, 10),
      [
        ["1", 1],
        ["10", 10],
      ],
      ["0", "11", "1.5", "a", ""],
    ],
    [
      port,
      [
        ["0", 0],
        ["8080", 8080],
      ],
      ["65536", "-1", "http"],
    ],
    [choice("a", "b"), [["a", "a"]], ["c", ""]],
    [
      toggle,
      [
        ["1", true],
        ["YES", true],
        ["off", false],
        ["", false],
      ],
      ["maybe"],
    ],
    [
      onOff,
      [
        ["on", true],
        ["off", false],
      ],
      ["true"],
    ],
    [
      pair,
      [
        ["a=b=c", ["a", "b=c"]],
        ["a=", ["a", ""]],
      ],
      ["a", "=b"],
    ],
  ];
  for (const [kind, good, bad] of cases) {
    for (const [given, expected] of good) assert.deepEqual(kind.parse(given), expected, given);
    for (const given of bad) assert.throws(() => kind.parse(given), /^Error: /, given);
  }
});

test("what a duration or size shows is read back as the same value", () => {
  for (const kind of [duration, bytes]) {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e12 }), (value) => kind.parse(kind.show(value)) === value),
    );
  }
});
