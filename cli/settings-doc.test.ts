import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { loadAll } from "./commands.ts";
import { settingsDoc } from "./settings-doc.ts";

test("docs/settings.md says what the declarations say", async () => {
  const written = await readFile(new URL("../docs/settings.md", import.meta.url), "utf8");
  assert.equal(settingsDoc(await loadAll()), written, "write docs/settings.md anew from settingsDoc()");
});
