import assert from "node:assert/strict";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { parseArguments } from "./arguments.ts";
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

test("merge takes no setting that only rows have, and its help lists none", () => {
  const flags = Object.values(merge.settings).map(({ flag }) => flag);
  const refused = [
    "--mode",
    "--transform",
    "--column",
    "--route",
    "--max-tables",
    "--keep-raw",
    "--metadata",
  ];
  for (const flag of [...refused, "--on-tombstone", "--csv-header", "--csv-delimiter"]) {
    assert.ok(!flags.includes(flag), `${flag} is a setting of merge`);
    assert.throws(
      () => parseArguments(merge, [flag, "x"]),
      (error) => isLabError(error, "USAGE") && error.message.includes(flag),
    );
  }
  assert.deepEqual(
    ["json", "avro", "protobuf", "csv", "text", "bytes"].filter((word) => isTaken(word)),
    ["json", "avro", "protobuf"],
  );
});

function isTaken(format: string): boolean {
  try {
    merge.settings.format!.kind.parse(format);
    return true;
  } catch {
    return false;
  }
}
