/** Messages as rows without a transform: a FROM clause over the feed and its origins. */

import type { StructField } from "../delta/types.ts";
import { orDerived } from "./derived-columns.ts";
import type { EncodePlan } from "./encoder.ts";
import { quoteName } from "./instance.ts";
import type { Source } from "./json-source.ts";
import { KAFKA_FIELD, kafkaStruct } from "./kafka-column.ts";
import type { Origins } from "./origins.ts";
import { sqlType } from "./sql-types.ts";

/**
 * Messages as they are, in the types of the source's schema, straight from the feed: a table in between would cost a third more. For the
 * partition values the feed is not read where no message gives any. `more` are columns beside those of the schema.
 */
export function rowsOfMessages(
  source: Source,
  origins: Origins,
  plan: EncodePlan,
  ...more: readonly string[]
): { rows: string; keys: string } {
  const fields = source.schema.fields.filter((field) => field.type !== "void");
  const keyFields = fields.filter((field) => plan.partitionColumns.includes(field.name));
  const unheld = new Set(keyFields.filter((field) => !source.mayHave(field)));
  const select = (some: readonly StructField[], from: string, others: readonly string[] = []) => {
    const columns = some.map((field) => `${sqlOf(field)} AS ${quoteName(field.name)}`);
    return `(SELECT ${[...columns, ...others].join(", ")} FROM ${from})`;
  };

  function sqlOf(field: StructField): string {
    if (field.name === KAFKA_FIELD.name && plan.metadata) return kafkaStruct(field, origins.members);
    return orDerived(field, given(field), {
      schema: source.schema,
      derived: plan.derived,
      time: origins.time,
      column: given,
    });
  }

  function given(field: StructField): string {
    return unheld.has(field) ? `NULL::${sqlType(field.type)}` : source.column(field);
  }

  const ofOrigins = unheld.size === keyFields.length && plan.derived.every(({ kind }) => kind !== "bucket");
  const keys = select(keyFields, ofOrigins ? "origins AS origin" : source.from);
  return { rows: select(fields, source.from, more), keys };
}
