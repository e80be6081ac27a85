import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { loadAll } from "./commands.ts";
import { labJsonSchema } from "./lab-yaml.ts";
import { settingsDoc } from "./settings-doc.ts";

test("docs/settings.md says what the declarations say", async () => {
  const written = await readFile(new URL("../docs/settings.md", import.meta.url), "utf8");
  assert.equal(settingsDoc(await loadAll()), written, "write docs/settings.md anew from settingsDoc()");
});

test("every key of a stream's entry in lab.yaml stands beside the flag that means the same", async () => {
  type Json = { properties?: Record<string, Json>; items?: Json };
  const { properties = {} } = (labJsonSchema() as Json).properties!.streams!.items as Json;
  const keys = Object.entries(properties).flatMap(([key, { properties: inner }]) =>
    inner === undefined || key === "upkeep" ? [key] : Object.keys(inner).map((one) => `${key}.${one}`),
  );
  const text = settingsDoc(await loadAll());
  assert.ok(keys.length > 15);
  for (const key of keys) assert.ok(text.includes(`\`streams[].${key}\``), key);
});
