/** `lab checkpoint`: writes one now. */

import { toJson } from "../core/ops.ts";
import { readHint } from "../delta/last-checkpoint.ts";
import { ASK, withQuery } from "./ask.ts";
import { defineCommand } from "./command.ts";
import { count, plural, size } from "./lines.ts";

export const checkpoint = defineCommand({
  name: "checkpoint",
  summary: "Write a checkpoint of a table's newest version, so that it opens faster",
  args: [{ name: "TABLE", description: "a table's name in the store, or its path or URI", required: true }],
  examples: ["lab checkpoint orders", "lab checkpoint orders --json"],
  settings: ASK,
  seeAlso: ["cleanup", "show"],
  async run({ screen, common, signal }, values, [asked = ""]) {
    const written = await withQuery(values, async ({ catalog }) => {
      const { name, table } = await catalog.openAny(asked, signal);
      const snapshot = await table.latest(signal);
      await table.checkpoint(snapshot, signal);
      const hint = await readHint(table.store, signal);
      // Another writer may have written a newer one meanwhile: then the pointer tells of that.
      const isOurs = hint?.version === snapshot.version;
      return {
        table: name,
        version: snapshot.version,
        rows: isOurs ? hint.size : null,
        bytes: isOurs && hint.sizeInBytes !== undefined ? String(hint.sizeInBytes) : null,
      };
    });
    const { version, rows, bytes } = written;
    screen.out(
      common.json
        ? `${toJson(written, 2)}\n`
        : `checkpoint of version ${count(version)}: ${plural(rows, "row")}, ${size(bytes)}\n`,
    );
    return 0;
  },
});
