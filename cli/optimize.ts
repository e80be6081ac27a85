/** `lab optimize`: fewer and fuller files, or rows in Z-order, beside whoever else writes. */

import { toJson } from "../core/ops.ts";
import { bytes, list, named, toggle } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";
import { type OptimizeResult, optimize as optimizeTable } from "../upkeep/optimize.ts";
import { defineCommand } from "./command.ts";
import { count, plural, size } from "./lines.ts";
import { progress } from "./progress.ts";
import { WORK, withTable, workbenchOptions } from "./work-settings.ts";

const MIB = 1024 * 1024;

export const optimize = defineCommand({
  name: "optimize",
  summary: "Join small files of a table, or sort its rows in Z-order",
  args: [{ name: "TABLE", description: "a table's name in the store, or its path or URI", required: true }],
  examples: [
    "lab optimize orders",
    "lab optimize orders --zorder customer,placed_at",
    "lab optimize s3://lab/tables/orders --target-size 256MiB",
  ],
  settings: {
    zorder: setting<string[]>({
      flag: "--zorder",
      kind: list(named("columns")),
      default: [],
      description:
        "sort by these columns at once, a.b for a member; writes every file again that is not sorted so",
    }),
    targetSize: setting<number | undefined>({
      flag: "--target-size",
      kind: bytes,
      default: undefined,
      defaultText: "delta.targetFileSize of the table, else 128MiB",
      description: "size that files shall have, about",
    }),
    tiered: setting<boolean>({
      flag: "--tiered",
      kind: toggle,
      default: false,
      description: "leave files alone that are large beside the small ones: for runs at short intervals",
    }),
    ...WORK,
  },
  stops: "tidily",
  seeAlso: ["vacuum", "history", "show"],
  async run(context, values, [name = ""]) {
    const { screen, common, signal } = context;
    const result = await withTable(context, values, name, async (table) => {
      let bar: ReturnType<typeof progress> | undefined;
      try {
        return await optimizeTable(table, {
          ...workbenchOptions(values),
          ...(values.zorder.length > 0 ? { zorder: values.zorder } : {}),
          ...(values.targetSize === undefined ? {} : { targetBytes: values.targetSize }),
          rule: values.tiered ? "tiered" : "full",
          onProgress(done, total) {
            bar ??= progress(screen, "optimize, MiB", Math.ceil(total / MIB));
            bar.update(Math.ceil(done / MIB));
          },
          signal,
        });
      } finally {
        bar?.end();
      }
    });
    screen.out(common.json ? `${toJson(result, 2)}\n` : `${told(name, result)}\n`);
    return 0;
  },
});

function told(name: string, result: OptimizeResult): string {
  const { version, filesRemoved, filesAdded, bytesRemoved, bytesAdded, skipped } = result;
  const left =
    skipped === 0 ? "" : `; ${plural(skipped, "group")} of files changed meanwhile and stay as they are`;
  if (version === null) return `${name}: nothing to do${left}`;
  return `${name}: ${plural(filesRemoved, "file")} of ${size(bytesRemoved)} became ${count(filesAdded)} of ${size(bytesAdded)}, version ${version}${left}`;
}
