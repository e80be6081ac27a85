import assert from "node:assert/strict";
import { test } from "node:test";
import { demoYaml } from "./demo.ts";
import { parseLabYaml } from "./lab-yaml.ts";
import { planUp, type UpChoices } from "./up-plan.ts";

const CHOICES: UpChoices = {
  only: [],
  store: "./lab-data/tables",
  data: "./lab-data",
  app: "lab",
  host: "127.0.0.1",
  port: 8080,
  verbose: false,
};
const demo = demoYaml("demo.yaml");

test("without lab.yaml the demo runs: two topics, their producers, ingester and page, no S3", () => {
  const plan = planUp(CHOICES, demo, "demo.yaml");
  assert.deepEqual([plan.kafka, plan.s3, plan.bucket], [true, false, null]);
  assert.deepEqual(plan.topics, [
    { topic: "my-topic", partitions: 1 },
    { topic: "orders", partitions: 3 },
  ]);
  assert.deepEqual(
    plan.children.map(({ name }) => name),
    ["dashboard", "ingest", "produce-my-topic", "produce-orders"],
  );
});

test("producers start last, so that they stop first and the ingester after them", () => {
  const kinds = planUp(CHOICES, demo, "demo.yaml").children.map(({ kind }) => kind);
  assert.ok(kinds.indexOf("ingest") < kinds.indexOf("produce"));
});

test("with lab.yaml its streams are ingested, and only the demo's topics have producers here", () => {
  const lab = parseLabYaml("streams:\n  - topic: clicks\n  - topic: orders\n", "lab.yaml");
  const plan = planUp(CHOICES, lab, "lab.yaml");
  assert.deepEqual(
    plan.topics.map(({ topic }) => topic),
    ["clicks", "orders"],
  );
  assert.deepEqual(
    plan.children.map(({ name }) => name),
    ["dashboard", "ingest", "produce-orders"],
  );
  assert.ok(plan.children.every(({ args }) => args.join(" ").includes("--config lab.yaml")));
});

test("a lab.yaml without streams still has broker and page", () => {
  const plan = planUp(CHOICES, parseLabYaml("store: x\n", "lab.yaml"), "lab.yaml");
  assert.deepEqual(
    plan.children.map(({ name }) => name),
    ["dashboard"],
  );
});

test("a store on S3 brings an S3 server and its bucket", () => {
  const plan = planUp({ ...CHOICES, store: "s3://lab/tables" }, demo, "demo.yaml");
  assert.deepEqual([plan.s3, plan.bucket], [true, "lab"]);
  assert.ok(plan.children[0]?.args.join(" ").includes("--store s3://lab/tables"));
});

test("--only brings services alone", () => {
  assert.deepEqual(planUp({ ...CHOICES, only: ["kafka"] }, demo, "demo.yaml"), {
    ...{ kafka: true, s3: false, bucket: null, topics: [], children: [] },
  });
  const both = planUp({ ...CHOICES, only: ["s3", "kafka"], store: "s3://lab/tables" }, demo, "demo.yaml");
  assert.deepEqual([both.kafka, both.s3, both.bucket, both.children], [true, true, "lab", []]);
});

test("tables are cared for unless somebody says otherwise", () => {
  const upkeepOf = (choices: UpChoices, yaml: string) => {
    const args = planUp(choices, parseLabYaml(yaml, "lab.yaml"), "lab.yaml").children.find(
      ({ kind }) => kind === "ingest",
    )!.args;
    const at = args.indexOf("--upkeep");
    return at < 0 ? undefined : args[at + 1];
  };
  const streams = "streams: [{ topic: a }]";
  assert.equal(upkeepOf(CHOICES, streams), "optimize=1h,vacuum=24h,cleanup=24h");
  assert.equal(upkeepOf({ ...CHOICES, upkeep: {} }, streams), "off");
  assert.equal(upkeepOf(CHOICES, `defaults: { upkeep: { optimize: off } }\n${streams}`), undefined);
});
