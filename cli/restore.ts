/** `lab restore`: makes an older state of a table its newest version. */

import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { toggle } from "../core/setting-kinds.ts";
import { SETTINGS, setting } from "../core/settings.ts";
import type { Table } from "../delta/table.ts";
import { momentOf } from "../query/moment.ts";
import { type RestoreResult, restoreTable } from "../upkeep/restore.ts";
import { ASK, AT, VERSION, withQuery } from "./ask.ts";
import { type Context, defineCommand } from "./command.ts";
import { KAFKA, type KafkaValues, kafkaAccess } from "./kafka-settings.ts";
import { count, plural, size } from "./lines.ts";
import { requireNoIngester } from "./no-ingester.ts";
import { phases } from "./phases.ts";

const CONNECT_MS = 3000;

export const restore = defineCommand({
  name: "restore",
  summary: "Make an older state of a table its newest version",
  args: [{ name: "TABLE", description: "a table's name in the store, or its path or URI", required: true }],
  examples: [
    "lab restore orders --version 3",
    "lab restore orders --at 2026-11-29T20:15:03Z",
    "lab restore orders --version 3 --rewind-offsets",
  ],
  settings: {
    ...ASK,
    version: { ...VERSION, description: "the version whose state comes back" },
    at: { ...AT, description: "the state of this time comes back: 2026-11-29T20:15:03Z, UTC without a zone" },
    rewindOffsets: setting<boolean>({
      flag: "--rewind-offsets",
      env: "LAB_RESTORE_REWIND_OFFSETS",
      kind: toggle,
      default: false,
      description:
        "also take the Kafka positions back, so that what was ingested since is ingested again; refused while an ingester runs",
    }),
    data: SETTINGS.data,
    ...KAFKA,
  },
  seeAlso: ["history", "diff", "vacuum"],
  async run(context, values, [asked = ""]) {
    const { screen, common, signal } = context;
    const to = targetOf(values);
    const steps = phases(screen);
    const found = await withQuery(values, async ({ catalog }) => {
      const { name, table } = await catalog.openAny(asked, signal);
      if (values.rewindOffsets) await requireQuiet(context, values, table);
      const options = { to, rewindOffsets: values.rewindOffsets, onProgress: steps.onProgress };
      return { name, result: await restoreTable(table, options, signal) };
    }).finally(steps.end);
    screen.out(
      common.json ? `${toJson(document(found.name, found.result), 2)}\n` : `${told(found.result)}\n`,
    );
    return 0;
  },
});

function targetOf({
  version,
  at,
}: {
  version: number | undefined;
  at: string | undefined;
}): { version: number } | { timestampMs: number } {
  if (version !== undefined && at === undefined) return { version };
  if (at !== undefined && version === undefined) return { timestampMs: momentOf(at) };
  throw new LabError("USAGE", "restore takes either --version or --at", {
    hint: "lab history lists the versions and their times",
  });
}

async function requireQuiet(
  { screen, signal, env, lab }: Context,
  values: KafkaValues & { data: string },
  table: Table,
): Promise<void> {
  const { connectKafka } = await import("../kafka/client.ts");
  const access = await kafkaAccess(values, { env, lab });
  await requireNoIngester({
    tableUri: table.store.root,
    appIds: (await table.latest(signal)).txns().keys(),
    data: values.data,
    kafka: connectKafka({ ...access, clientId: "lab-restore", connectTimeoutMs: CONNECT_MS }),
    note: screen.note,
    signal,
  });
}

function document(table: string, result: RestoreResult): object {
  const { restored, version, files, bytes, rows, hasMetadata, rewound } = result;
  return {
    table,
    restored,
    version,
    filesRestored: files.restored,
    filesRemoved: files.removed,
    bytesRestored: String(bytes.restored),
    bytesRemoved: String(bytes.removed),
    rowsRestored: rows.restored?.toString() ?? null,
    rowsRemoved: rows.removed?.toString() ?? null,
    schemaOrProperties: hasMetadata,
    rewound: rewound.map(({ appId, from, to }) => ({ appId, from: from.toString(), to: to.toString() })),
  };
}

function told(result: RestoreResult): string {
  const { restored, version, files, bytes, rows, hasMetadata, rewound } = result;
  if (version === null) return `the table is as it was at version ${count(restored)} already`;
  const inOut = (label: string, some: number, total: number, row: bigint | undefined) =>
    `${plural(some, "file")} ${label} (${size(total)}, ${plural(row ?? null, "row")})`;
  const lines = [
    `version ${count(version)} is version ${count(restored)} again: ${inOut("brought back", files.restored, bytes.restored, rows.restored)}, ${inOut("taken out", files.removed, bytes.removed, rows.removed)}`,
  ];
  if (hasMetadata) lines.push("schema or properties came back, too");
  for (const { appId, from, to } of rewound)
    lines.push(`${appId}: settled up to ${to === -1n ? "nothing" : count(to)}, was ${count(from)}`);
  if (rewound.length > 0)
    lines.push("what was ingested after these offsets is ingested again at the next start");
  return lines.join("\n");
}
