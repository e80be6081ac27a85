import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError, LabError } from "../core/errors.ts";
import { demoYaml } from "./demo.ts";
import { parseLabYaml } from "./lab-yaml.ts";
import { planUp, type UpChoices } from "./up-plan.ts";
import { startInTurns } from "./up-steps.ts";

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

test("nothing is produced unasked to a broker of others, though a topic has the name of the demo's", () => {
  const lab = parseLabYaml("streams:\n  - topic: orders\n", "lab.yaml");
  const plan = planUp({ ...CHOICES, isForeignBroker: true }, lab, "lab.yaml");
  assert.deepEqual(
    plan.children.map(({ name }) => name),
    ["dashboard", "ingest"],
  );
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
  assert.equal(upkeepOf(CHOICES, streams), "optimize=1h,vacuum=24h,cleanup=24h,rollup=1h");
  assert.equal(upkeepOf({ ...CHOICES, upkeep: {} }, streams), "off");
  assert.equal(upkeepOf(CHOICES, `defaults: { upkeep: { optimize: off } }\n${streams}`), undefined);
});

const each = (streams: string) => {
  const lab = parseLabYaml(`processes: each\nstreams:\n${streams}`, "lab.yaml");
  return planUp(CHOICES, lab, "lab.yaml").children.filter(({ kind }) => kind === "ingest");
};
const streamOf = ({ args }: { args: string[] }) => args[args.indexOf("--stream") + 1];

test("processes: each runs one ingester a stream, named after it, between the page and the producers", () => {
  const lab = parseLabYaml(
    "processes: each\nstreams:\n  - topic: my-topic\n  - topic: orders\n    table: sales\n",
    "lab.yaml",
  );
  const { children } = planUp(CHOICES, lab, "lab.yaml");
  assert.deepEqual(
    children.map(({ name, isOneOfMany }) => [name, isOneOfMany ?? false]),
    [
      ["dashboard", false],
      ["ingest-my-topic", true],
      ["ingest-orders", true],
      ["produce-my-topic", false],
      ["produce-orders", false],
    ],
  );
  assert.deepEqual(children.slice(1, 3).map(streamOf), ["my-topic", "orders"]);
  // A port of its own for each.
  for (const { args } of children) assert.ok(args.join(" ").includes("--ops-port 0"));
});

test("a topic that goes to several tables has an ingester for each, by its table", () => {
  const found = each(
    "  - { topic: t, table: a }\n  - { topic: t, table: s3://x/deep/b }\n  - { topic: u }\n",
  );
  assert.deepEqual(found.map(streamOf), ["a", "s3://x/deep/b", "u"]);
  assert.deepEqual(
    found.map(({ name }) => name),
    ["ingest-a", "ingest-b", "ingest-u"],
  );
});

test("streams that no name tells apart share a process, and names that would be alike are numbered", () => {
  const shared = each("  - { topic: t, table: a }\n  - { topic: u, table: a }\n");
  assert.deepEqual(shared.map(streamOf), ["t", "u"]);
  const mixed = each("  - { topic: t, table: a }\n  - { topic: t, table: b }\n  - { topic: u, table: a }\n");
  assert.deepEqual(mixed.map(streamOf), ["t", "u"]);
  const alike = each("  - { topic: t, table: /x/a }\n  - { topic: t, table: /y/a }\n");
  assert.deepEqual(
    alike.map(({ name }) => name),
    ["ingest-a", "ingest-a-2"],
  );
});

test("of many that start together one that fails is told and left, and all that fail are an error", async () => {
  const lab = parseLabYaml(
    "processes: each\nstreams: [{ topic: a }, { topic: b }, { topic: c }]",
    "lab.yaml",
  );
  const { children } = planUp(CHOICES, lab, "lab.yaml");
  const { signal } = new AbortController();
  const run = async (isBad: (name: string) => boolean) => {
    const started: string[] = [];
    const failed: string[] = [];
    const start = async ({ name }: { name: string }) => {
      if (isBad(name)) throw new LabError("TOPIC_MISSING", `${name}: no topic`);
      started.push(name);
    };
    await startInTurns(children, start, { signal, onFailure: (name) => failed.push(name) });
    return { started, failed };
  };
  assert.deepEqual(await run((name) => name === "ingest-b"), {
    started: ["dashboard", "ingest-a", "ingest-c"],
    failed: ["ingest-b"],
  });
  await assert.rejects(
    run((name) => name.startsWith("ingest")),
    (error) => isLabError(error, "TOPIC_MISSING"),
  );
  await assert.rejects(
    run((name) => name === "dashboard"),
    (error) => isLabError(error, "TOPIC_MISSING"),
  );
});
