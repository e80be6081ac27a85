import assert from "node:assert/strict";
import { test } from "node:test";
import { parseLabYaml } from "./lab-yaml.ts";
import { speaksOfUpkeep, UPKEEP_DEFAULT, upkeepKind, upkeepOf } from "./upkeep-plan.ts";

const HOUR = 3_600_000;
const YAML = `
defaults: { upkeep: { optimize: 1h, vacuum: 24h } }
streams:
  - topic: a
  - topic: b
    upkeep: { optimize: 10m, vacuum: off, cleanup: 7d }
`;

test("a stream is cared for as the defaults say, and as it says itself", () => {
  const lab = parseLabYaml(YAML, "lab.yaml");
  assert.deepEqual(upkeepOf("a", undefined, lab), { optimize: HOUR, vacuum: 24 * HOUR });
  assert.deepEqual(upkeepOf("b", undefined, lab), { optimize: HOUR / 6, cleanup: 168 * HOUR });
  assert.equal(speaksOfUpkeep(lab), true);
});

test("without a word of it there is no upkeep, and a flag wins over lab.yaml", () => {
  assert.deepEqual(upkeepOf("a", undefined, null), {});
  assert.deepEqual(upkeepOf("a", {}, parseLabYaml(YAML, "lab.yaml")), {});
  assert.equal(speaksOfUpkeep(parseLabYaml("streams: [{ topic: a }]", "lab.yaml")), false);
});

test("intervals are written as they are read", () => {
  assert.equal(
    upkeepKind.show(upkeepKind.parse(UPKEEP_DEFAULT)),
    "optimize=1h,vacuum=1d,cleanup=1d,rollup=1h",
  );
  assert.deepEqual(upkeepKind.parse("off"), {});
  assert.throws(() => upkeepKind.parse("sweep=1h"), /sweep/);
  assert.throws(() => upkeepKind.parse("vacuum=5"), /duration/);
});
