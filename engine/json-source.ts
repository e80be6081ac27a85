/** Messages of format `json` as something DuckDB can read row by row: checked, rewritten where needed, schema evolved. */

import type { StructField, StructType } from "../delta/types.ts";
import type { BadRecord, EncodePlan } from "./encoder.ts";
import { quoteName, quoteText } from "./instance.ts";
import { compileJsonCheck, type JsonCheck, UNSURE } from "./json-check.ts";
import { fromRead, readType } from "./json-columns.ts";
import { evolveSchema, type Growth } from "./json-evolve.ts";
import { checkMessages, writeFeed } from "./json-feed.ts";
import { withoutKafka } from "./kafka-column.ts";
import type { RawBatch } from "./raw-batch.ts";
import { literalPath } from "./scan.ts";

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
    plan: Growth & Pick<EncodePlan, "onUnknownField">,
    signal: AbortSignal,
  ): Promise<Source>;
};

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
        const doubtful = [...verdicts.keys()].filter((i) => verdicts[i] === UNSURE);
        schema = await evolveSchema(batch, doubtful, plan, signal);
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
  };
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
