/**
 * A setting that fits no message: a key column that no row has, a position that none tells. Then nothing is a change, and a stream that made dead
 * letters of all would have to be told everything again once the setting is right. So it stops before it writes them.
 */

import { LabError } from "../core/errors.ts";
import { type JsonObject, parseJsonExactly } from "../engine/json-parse.ts";
import { createRawBatch } from "../engine/raw-batch.ts";
import type { ChunkContent, Letter } from "../ingest/chunk.ts";
import type { Work } from "../ingest/work.ts";
import { emptyObject, isJsonObject, valueAt } from "./json-text.ts";
import type { CdcOptions } from "./options.ts";

type Told = Pick<CdcOptions, "format" | "keyColumns" | "plain"> & { topic: string };
type Run = Told & { once: boolean };

/** So many first messages of a stream without an end show that none will be a change. */
const ENOUGH = 1000;
/** Names are looked for in so many messages, and so many are told. */
const LOOKED_AT = 20;
const MOST_NAMES = 12;

/**
 * As `work`, but CONFIG_INVALID, with nothing of the chunk settled, where no message since the start was a change and every one was refused for
 * the same setting: of a run with an end the first chunk, of others the first 1,000 messages. A table that holds rows has shown that its key and
 * its format are right, so of those only a position is doubted.
 */
export function requireFitting(work: Work, told: Run): Work {
  let isFit = false;
  const refusedTo = new Map<number, bigint>();
  let refused = 0;
  return {
    ...work,
    async encode(chunk, input) {
      if (isFit) return work.encode(chunk, input);
      const known = await input.targetFor(createRawBatch({ capacityBytes: 0 }), null);
      await work.encode(chunk, input);
      isFit = hasChange(chunk);
      for (const { partition, offset } of chunk.letters) {
        // What was dropped and read again is one message.
        if (offset <= (refusedTo.get(partition) ?? -1n)) continue;
        refusedTo.set(partition, offset);
        refused++;
      }
      if (isFit || (!told.once && refused < ENOUGH)) return;
      const misfit = misfitOf(chunk.letters, told, known !== null && known.snapshot.numFiles > 0);
      if (misfit) throw misfit;
    },
  };
}

function hasChange({ counts }: ChunkContent): boolean {
  return [...counts.values()].some(({ rows }) => rows > 0);
}

type Doubt = { missing: string; setting: string; given: string };

/** What is wrong with the settings where all these are refused for one of them; null where the messages may be what is wrong. Pure. */
export function misfitOf(letters: readonly Letter[], told: Told, hasRows: boolean): LabError | null {
  // What is no JSON says nothing of where it has what.
  const read = letters.filter(({ stage }) => stage === "schema");
  const [first] = read;
  if (!first || read.some(({ code }) => code !== first.code)) return null;
  if (hasRows && first.code !== "CDC_POSITION") return null;
  const doubt = doubtOf(first.code, told);
  if (!doubt) return null;
  const objects = read.slice(0, LOOKED_AT).flatMap(({ value }) => objectOf(value));
  const names = first.code === "CDC_KEY_MISSING" ? rowNames(objects, told) : pathsOf(objects);
  const whose = first.code === "CDC_KEY_MISSING" ? "rows have" : "messages have";
  const found = names.length === 0 ? "" : `; ${whose} ${list(names)}`;
  const all = letters.length === 1 ? "the only message" : `none of ${letters.length} messages`;
  const verb = letters.length === 1 ? "lacks" : "has";
  return new LabError(
    "CONFIG_INVALID",
    `${told.topic}: ${all} ${verb} ${doubt.missing}: ${first.message}${found}`,
    {
      hint: `${doubt.setting} is ${doubt.given}: set it right and start again, these messages are not settled. Where they are what is wrong, --max-bad off (maxBad: off) makes dead letters of them`,
      details: { reason: first.code, messages: letters.length, names },
    },
  );
}

function doubtOf(code: string, { format, keyColumns, plain }: Told): Doubt | null {
  const formatIs = { setting: "cdc.format (--cdc-format)", given: format };
  switch (code) {
    case "CDC_KEY_MISSING":
      return {
        missing: "a key",
        ...{ setting: "cdc.key (--cdc-key)", given: keyColumns?.join(", ") ?? "not told" },
      };
    case "CDC_POSITION":
      return {
        missing: "a position",
        ...{ setting: "cdc.position (--cdc-position)", given: plain?.position?.join(", ") ?? "not told" },
      };
    case "CDC_ROW_MISSING":
      if (format !== "plain") return { missing: "a row", ...formatIs };
      return { missing: "a row", setting: "cdc.row (--cdc-row)", given: plain?.row ?? "." };
    case "UNKNOWN_OPERATION":
      if (format !== "plain") return { missing: "a known operation", ...formatIs };
      return { missing: "a known operation", setting: "cdc.op (--cdc-op)", given: plain?.op ?? "not told" };
    case "NOT_A_CHANGE":
      return { missing: `a change of format ${format}`, ...formatIs };
    default:
      return null;
  }
}

function objectOf(value: Uint8Array | null): JsonObject[] {
  if (value === null) return [];
  try {
    const parsed = parseJsonExactly(Buffer.from(value).toString("utf8"));
    return isJsonObject(parsed) ? [parsed] : [];
  } catch {
    // A format of a schema, whose bytes tell no names.
    return [];
  }
}

/** Where formats have the row, the likeliest place first. */
const ROWS: Record<Exclude<CdcOptions["format"], "plain">, readonly string[]> = {
  debezium: ["payload.after", "payload.before", "payload", "after", "before"],
  dms: ["data"],
  maxwell: ["data"],
  dynamodb: ["dynamodb.Keys"],
};

/** The columns of the rows; of the messages themselves where none has a row. */
function rowNames(objects: readonly JsonObject[], { format, plain }: Told): string[] {
  const places = format === "plain" ? [plain?.row, plain?.key] : ROWS[format];
  const rows = objects.flatMap((object) =>
    places
      .flatMap((place) => (place === undefined ? object : (valueAt(object, place) ?? [])))
      .filter(isJsonObject)
      .slice(0, 1),
  );
  return [...new Set((rows.length > 0 ? rows : objects).flatMap((row) => Object.keys(row)))];
}

/** What a path can lead to: members, and those of objects in them. */
function pathsOf(objects: readonly JsonObject[]): string[] {
  const paths = objects.flatMap((object) =>
    Object.keys(object).flatMap((name) => {
      const value = object[name];
      const inner = Object.keys(isJsonObject(value) ? value : emptyObject());
      return inner.length === 0 ? [name] : inner.map((one) => `${name}.${one}`);
    }),
  );
  return [...new Set(paths)];
}

function list(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  return more > 0 ? `${names.slice(0, MOST_NAMES).join(", ")} and ${more} more` : names.join(", ");
}
