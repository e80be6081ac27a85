/** `lab audit rollup`: what a table's commits settled, summed up in the audit table. */

import { tmpdir } from "node:os";
import { rollUp } from "../audit/rollup.ts";
import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { withQuery } from "./ask.ts";
import type { AuditValues } from "./audit.ts";
import { requireAuditTable } from "./audit-table.ts";
import type { Context } from "./command.ts";
import { count, plural } from "./lines.ts";

export async function auditRollUp(context: Context, values: AuditValues, asked: string): Promise<number> {
  const { screen, common, signal } = context;
  const { app, auditTable, auditTopic } = values;
  if (asked === "")
    throw new LabError("USAGE", "the log of which table is to be rolled up?", {
      hint: "lab audit rollup orders",
    });
  const { name, done } = await withQuery(values, async ({ catalog }) => {
    await requireAuditTable(catalog, { table: auditTable, topic: auditTopic }, signal);
    const { table: audit } = await catalog.openAny(auditTable, signal);
    const { name, table } = await catalog.openAny(asked, signal);
    const done = await rollUp({ table, audit, app, scratchDir: tmpdir(), now: Date.now, signal });
    return { name, done };
  });
  const { upTo, rows, version, missing } = done;
  const document = { table: name, upTo: upTo < 0 ? null : upTo, rows, version, missing };
  if (common.json) screen.out(`${toJson(document, 2)}\n`);
  else if (upTo < 0) screen.out(`${name}: no commit speaks of an audit\n`);
  else if (version === null)
    screen.out(`${name}: all commits up to version ${count(upTo)} were rolled up before\n`);
  else {
    screen.out(
      `${name}: up to version ${count(upTo)} in ${plural(rows, "row")} of ${auditTable}, version ${count(version)}\n`,
    );
    if (missing > 0)
      screen.note(`${plural(missing, "version")} were no longer in the log: what they settled is not known`);
  }
  return 0;
}
