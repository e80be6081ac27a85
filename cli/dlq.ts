/** `lab dlq`: the dead letters of a table, to look at, replay and drop. */

import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import { toggle } from "../core/setting-kinds.ts";
import { setting, type Values } from "../core/settings.ts";
import { type Desk, openDesk } from "../letters/desk.ts";
import { isUnfiltered, type LetterFilter } from "../letters/filter.ts";
import { countLetters, listLetters, showLetters } from "../letters/list.ts";
import type { LetterTables } from "../letters/tables.ts";
import { nearNames } from "../query/near-names.ts";
import { type Context, defineCommand } from "./command.ts";
import { ENCODING, openEncoding } from "./dlq-encode.ts";
import {
  contentDocument,
  contentPage,
  kindsPage,
  letterDocument,
  lettersPage,
  replayPage,
} from "./dlq-print.ts";
import { FILTER, letterFilter, offsetSpan } from "./dlq-settings.ts";
import { withLetterTables } from "./dlq-tables.ts";
import { count, plural } from "./lines.ts";
import { progress } from "./progress.ts";
import { WORK, workbenchOptions } from "./work-settings.ts";

const ACTIONS = ["list", "show", "replay", "drop"] as const;
const LISTED = 100;

const SETTINGS = {
  ...FILTER,
  summary: setting<boolean>({
    flag: "--summary",
    env: "LAB_DLQ_SUMMARY",
    kind: toggle,
    default: false,
    description: "list: how many of each kind, instead of each",
  }),
  dryRun: setting<boolean>({
    flag: "--dry-run",
    env: "LAB_DLQ_DRY_RUN",
    kind: toggle,
    default: false,
    description: "replay, drop: only tell what would come of it",
  }),
  ...ENCODING,
  ...WORK,
} as const;

type DlqValues = Values<typeof SETTINGS>;

export const dlq = defineCommand({
  name: "dlq",
  summary: "List, show, replay and drop the dead letters of a table",
  args: [
    { name: "list|show|replay|drop", description: "what to do", required: true },
    { name: "TABLE", description: "a table's name in the store, or its path or URI", required: true },
    { name: "PARTITION:OFFSET", description: "show: which letter", required: false },
  ],
  examples: [
    "lab dlq list orders --summary",
    "lab dlq show orders 0:1742",
    "lab dlq replay orders --code WRONG_TYPE --transform fixed.sql --dry-run",
    "lab dlq replay orders --all",
    "lab dlq drop orders --stage decode --until 2026-11-29",
  ],
  settings: SETTINGS,
  stops: "tidily",
  seeAlso: ["ingest", "query", "restore"],
  async run(context, values, [action = "", name = "", place]) {
    const run = ACTIONS.find((one) => one === action);
    if (run === undefined) {
      const near = nearNames(action, ACTIONS);
      throw new LabError("USAGE", `lab dlq cannot ${action}`, {
        hint: near.length > 0 ? `did you mean ${near.join(" or ")}?` : `it can ${ACTIONS.join(", ")}`,
      });
    }
    refuseUnused(run, values, place);
    await withLetterTables(context, values, name, (tables, table) =>
      RUN[run]({ context, values, tables, ...table, ...(place === undefined ? {} : { place }) }),
    );
    return 0;
  },
});

type Work = {
  context: Context;
  values: DlqValues;
  tables: LetterTables;
  name: string;
  uri: string;
  place?: string;
};

const RUN: Record<(typeof ACTIONS)[number], (work: Work) => Promise<void>> = { list, show, replay, drop };

/** A flag that an action does not heed must not look as if it did. */
function refuseUnused(action: (typeof ACTIONS)[number], values: DlqValues, place: string | undefined): void {
  const isChanging = action === "replay" || action === "drop";
  const wrong =
    values.transform !== undefined && action !== "replay"
      ? ENCODING.transform.flag
      : values.dryRun && !isChanging
        ? SETTINGS.dryRun.flag
        : values.summary && action !== "list"
          ? SETTINGS.summary.flag
          : place !== undefined && action !== "show"
            ? place
            : undefined;
  if (wrong !== undefined)
    throw new LabError("USAGE", `lab dlq ${action} does not take ${wrong}`, {
      hint: "lab help dlq tells what is for which",
    });
}

async function withDesk<T>({ tables, values }: Work, work: (desk: Desk) => Promise<T>): Promise<T> {
  const desk = await openDesk(tables, workbenchOptions(values));
  try {
    return await work(desk);
  } finally {
    await desk.close();
  }
}

async function list(work: Work): Promise<void> {
  const { context, values, name } = work;
  const { screen, common, signal } = context;
  const given = letterFilter(values);
  const filter: LetterFilter = values.all ? { states: ["open", "replayed", "dropped"], ...given } : given;
  if (values.summary) {
    const kinds = await withDesk(work, (desk) => countLetters(desk, filter, signal));
    if (common.json) screen.out(`${toJson(kinds, 2)}\n`);
    else screen.out(kinds.length > 0 ? `${kindsPage(kinds, screen)}\n` : `${name}: no such letters\n`);
    return;
  }
  const { letters, total } = await withDesk(work, (desk) =>
    listLetters(desk, { limit: LISTED, ...filter }, signal),
  );
  if (common.json) screen.out(`${toJson(letters.map(letterDocument), 2)}\n`);
  else screen.out(letters.length > 0 ? `${lettersPage(letters, screen)}\n` : `${name}: no such letters\n`);
  const left = total - BigInt(letters.length);
  if (left > 0n) screen.note(`+${count(left)} more: --limit N shows more of them, --summary counts them`);
}

async function show(work: Work): Promise<void> {
  const { context, values, name, place = "" } = work;
  const { screen, common, signal } = context;
  const at = placeOf(place);
  const topic = values.topic === undefined ? {} : { topic: values.topic };
  const letters = await withDesk(work, (desk) => showLetters(desk, { ...at, ...topic }, signal));
  if (letters.length === 0)
    throw new LabError("LETTER_NOT_FOUND", `${name} has no dead letter at ${place}`, {
      hint: `lab dlq list ${name} --all lists every letter`,
    });
  if (common.json) screen.out(`${toJson(letters.map(contentDocument), 2)}\n`);
  else screen.out(`${letters.map((letter) => contentPage(letter, screen)).join("\n\n")}\n`);
}

function placeOf(text: string): { partition: number; offset: bigint } {
  const hint = { hint: "write it as lab dlq show TABLE 0:1742" };
  if (!/^\d+:\d+$/.test(text))
    throw new LabError(
      "USAGE",
      text === "" ? "it is not said which letter" : `${text} is no PARTITION:OFFSET`,
      hint,
    );
  const { partition, first } = offsetSpan.parse(text);
  return { partition: partition!, offset: first };
}

/** What to replay or drop. USAGE where nothing chooses and it is not said that all are meant; it tells how many that would be. */
async function chosenLetters(work: Work, verb: string): Promise<LetterFilter> {
  const { values, context } = work;
  const filter = letterFilter(values);
  if (!isUnfiltered(filter) || values.all) return filter;
  const kinds = await withDesk(work, (desk) => countLetters(desk, filter, context.signal));
  const letters = kinds.reduce((sum, kind) => sum + kind.letters, 0n);
  throw new LabError("USAGE", `it is not said which of ${plural(letters, "letter")} to ${verb}`, {
    hint: "give --all, or some of --stage, --code, --topic, --partition, --offset, --since, --until, --limit",
  });
}

async function replay(work: Work): Promise<void> {
  const { context, values, tables, name } = work;
  const { screen, common, signal } = context;
  const filter = await chosenLetters(work, "replay");
  const encoding = await openEncoding(work);
  const { replayLetters } = await import("../letters/replay.ts");
  let bar: ReturnType<typeof progress> | undefined;
  try {
    const result = await replayLetters(
      tables,
      {
        ...workbenchOptions(values),
        app: values.app,
        filter,
        isDryRun: values.dryRun,
        encode: encoding.encode,
        onProgress(done, total) {
          bar ??= progress(screen, "letters", total);
          bar.update(done);
        },
      },
      signal,
    );
    if (common.json) screen.out(`${toJson({ table: name, dryRun: values.dryRun, ...result }, 2)}\n`);
    else screen.out(`${replayPage(name, result, values.dryRun, screen)}\n`);
  } finally {
    bar?.end();
    await encoding.close();
  }
}

async function drop(work: Work): Promise<void> {
  const { context, values, tables, name } = work;
  const { screen, common, signal } = context;
  const filter = await chosenLetters(work, "drop");
  const { dropLetters } = await import("../letters/drop.ts");
  const options = { ...workbenchOptions(values), app: values.app, filter, isDryRun: values.dryRun };
  const { dropped, present } = await dropLetters(tables, options, signal);
  if (common.json)
    return screen.out(`${toJson({ table: name, dryRun: values.dryRun, dropped, present }, 2)}\n`);
  const found = present > 0 ? `; ${count(present)} in the table already, so replayed` : "";
  const would = values.dryRun ? "would be " : "";
  screen.out(`${name}: ${plural(dropped, "letter")} ${would}dropped${found}\n`);
}
