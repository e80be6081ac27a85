import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { parseLabYaml } from "./lab-yaml.ts";
import { merge } from "./merge.ts";

test("a lab.yaml whose streams are all of rows is said to have none of changes, and they are named", async () => {
  const lab = parseLabYaml("streams:\n  - topic: people\n  - topic: orders\n", "lab.yaml");
  const context = { lab } as Parameters<typeof merge.run>[0];
  const values = { topic: undefined, stream: [] } as unknown as Parameters<typeof merge.run>[1];
  await assert.rejects(
    async () => merge.run(context, values, []),
    (error) =>
      isLabError(error, "USAGE") &&
      error.message.includes("mode: cdc") &&
      /people, orders/.test(error.hint ?? ""),
  );
});
