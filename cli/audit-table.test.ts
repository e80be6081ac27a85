import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isLabError } from "../core/errors.ts";
import { openCatalog } from "../query/catalog.ts";
import { requireAuditTable } from "./audit-table.ts";

test("where no producer was ever audited, the way to an audit table is told", async (t) => {
  const root = await mkdtemp(join(tmpdir(), "audit-table-"));
  t.after(() => rm(root, { recursive: true, force: true }));
  const catalog = openCatalog({ root });
  t.after(() => catalog.close());
  const { signal } = new AbortController();
  await assert.rejects(requireAuditTable(catalog, { table: "beats", topic: "said" }, signal), (error) => {
    assert.ok(isLabError(error, "TABLE_NOT_FOUND"));
    assert.match(error.message, /no table beats/);
    assert.match(error.hint ?? "", /`lab produce .*--audit said` .* `lab ingest --topic said --table beats /);
    return true;
  });
});
