/** Messages of format `json` as something DuckDB can read row by row: checked, rewritten where needed, schema evolved. */

import { setImmediate as nextTurn } from "node:timers/promises";
import { mergeSchemas } from "../delta/schema-merge.ts";
import { withTypeChanges } from "../delta/type-widening.ts";
import type { StructField, StructType } from "../delta/types.ts";
import type { BadRecord, EncodePlan } from "./encoder.ts";
import { inferAdditions, inferStruct, nothingObserved, observe } from "./infer.ts";
import { quoteName, quoteText } from "./instance.ts";
import { compileJsonCheck, type JsonCheck, UNSURE } from "./json-check.ts";
import { fromRead, readType } from "./json-columns.ts";
import { fitMessage, parseMessage } from "./json-exact.ts";
import { checkMessages, writeFeed } from "./json-feed.ts";
import { JsonNumber, type JsonValue } from "./json-parse.ts";
import { KAFKA_FIELD, withoutKafka } from "./kafka-column.ts";
import type { RawBatch } from "./raw-batch.ts";
import { literalPath } from "./scan.ts";
import { widenedFor } from "./widening.ts";

/** Rows in the making: what `from` yields, in the order of `places`, beside the table `origins`. */
export type Source = {
  /** The plan's schema, or what it became. */
  schema: StructType;
  /** Indexes of the batch that are rows. */
  places: Uint32Array;
  bad: BadRecord[];
  /** FROM clause; the origin of each row is `origin`. */
  from: string;
  /** A column of the schema as SQL over `from`. */
  column(field: StructField): string;
  /** False: surely no message of the batch has it. */
  mayHave(field: StructField): boolean;
};

export type JsonSource = {
  /** Writes the feed for a batch. It stands until the next call. */
  read(
    batch: RawBatch,
    plan: Pick<EncodePlan, "schema" | "onUnknownField" | "widen"> & {
      /** Types to give to new fields of these names where what was seen widens to them. */
      hints?: StructType;
    },
    signal: AbortSignal,
  ): Promise<Source>;
  /** The schema of the batch's messages; null when none parses. */
  infer(batch: RawBatch, signal: AbortSignal): Promise<StructType | null>;
};

/** Messages looked at before other work of the process gets its turn: parsing one is slow. */
const TURN = 512;
/** DuckDB's reader takes twice this per thread as a buffer. */
const LEAST_OBJECT_SIZE = 1 << 20;
const KEPT_CHECKS = 16;

/** `file` is written anew for each batch. */
export function createJsonSource(file: string): JsonSource {
  /** Kept from batch to batch: a check gets fast by use. */
  const checks = new Map<string, JsonCheck>();

  function checkFor(schema: StructType, ignoreUnknown: boolean): JsonCheck {
    const key = JSON.stringify([schema, ignoreUnknown]);
    let check = checks.get(key);
    if (check === undefined) {
      if (checks.size >= KEPT_CHECKS) checks.clear();
      check = compileJsonCheck(schema, { ignoreUnknown });
      checks.set(key, check);
    }
    return check;
  }

  return {
    async read(batch, plan, signal) {
      const ignoreUnknown = plan.onUnknownField === "ignore";
      let schema = plan.schema;
      let check = checkFor(withoutKafka(schema), ignoreUnknown);
      let verdicts = await checkMessages(batch, check, signal);
      if (plan.onUnknownField === "add") {
        schema = await evolve(batch, verdicts, plan, signal);
        if (schema !== plan.schema) {
          check = checkFor(withoutKafka(schema), false);
          verdicts = await checkMessages(batch, check, signal);
        }
      }
      const ofMessages = withoutKafka(schema);
      const feed = await writeFeed({ file, batch, verdicts, schema: ofMessages, ignoreUnknown, signal });
      return {
        schema,
        places: feed.places,
        bad: feed.bad,
        from: `${readFeed(file, ofMessages, feed.longestLine)} AS message POSITIONAL JOIN origins AS origin`,
        column: (field) => fromRead(field.type, `message.${quoteName(field.name)}`),
        // What was not walked to its end was rewritten, or is a letter.
        mayHave: ({ name }) => feed.isRewritten || check.hasMet(name),
      };
    },
    async infer(batch, signal) {
      const seen = nothingObserved();
      for (let i = 0; i < batch.length; i++) {
        const parsed = parseMessage(batch.value(i));
        if (parsed.kind === "object" && !isDeep(parsed.object)) observe(seen, parsed.object);
        if (i % TURN === TURN - 1) await nextTurn();
        signal.throwIfAborted();
      }
      return inferStruct(seen);
    },
  };
}

/** Engines bind a nested type by recursion: what is deeper than this becomes no column. */
const MOST_LEVELS = 64;

function isDeep(value: JsonValue, level = 0): boolean {
  if (typeof value !== "object" || value === null || value instanceof JsonNumber) return false;
  if (level > MOST_LEVELS) return true;
  return Object.values(value).some((inner: JsonValue) => isDeep(inner, level + 1));
}

/**
 * The schema with the fields that messages hold and it lacks, and with wider types where it may have them; only of messages that are rows
 * then. The same object where nothing is new.
 */
async function evolve(
  batch: RawBatch,
  verdicts: Uint8Array,
  plan: Parameters<JsonSource["read"]>[1],
  signal: AbortSignal,
): Promise<StructType> {
  const { schema, hints, widen } = plan;
  const before = withoutKafka(schema);
  let known = before;
  const seen = nothingObserved();
  for (let i = 0; i < batch.length; i++) {
    if (verdicts[i] !== UNSURE) continue;
    const parsed = parseMessage(batch.value(i));
    if (parsed.kind === "object" && !isDeep(parsed.object)) {
      const wider = widen ? widenedFor(known, parsed.object, widen) : known;
      const fitted = fitMessage(parsed.object, wider, { ignoreUnknown: true });
      if (fitted.kind === "row") known = wider;
      if (fitted.kind === "row" && fitted.hasUnknown) observe(seen, parsed.object);
    }
    if (i % TURN === TURN - 1) await nextTurn();
    signal.throwIfAborted();
  }
  const additions = inferAdditions(known, seen, hints);
  const merged = additions === null ? known : mergeSchemas(known, additions);
  if (merged === before) return schema;
  const noted = known === before ? merged : withTypeChanges(before, merged);
  const kafka = schema.fields.filter((field) => field.name === KAFKA_FIELD.name);
  return { type: "struct", fields: [...noted.fields, ...kafka] };
}

/**
 * The feed as a relation. What it cannot convert fails the statement: errors are not ignored, for that would make them NULL. A file without
 * columns is no relation, so one that no message has is asked for.
 */
function readFeed(file: string, schema: StructType, longestLine: number): string {
  const columns = schema.fields
    .filter((field) => field.type !== "void")
    .map((field) => `${quoteName(field.name)}: ${quoteText(readType(field.type))}`);
  if (columns.length === 0) columns.push(`"lab nothing": 'VARCHAR'`);
  const size = Math.max(longestLine + 1, LEAST_OBJECT_SIZE);
  return `read_json(${quoteText(literalPath(file))}, columns = {${columns.join(", ")}}, format = 'newline_delimited',
    records = true, compression = 'uncompressed', maximum_object_size = ${size})`;
}
