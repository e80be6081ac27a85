/** The encoder over DuckDB: messages are checked and fed as a file, converted into a table, and copied out as Parquet. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import type { StructField } from "../delta/types.ts";
import type { Encoded, EncodePlan, Encoder } from "./encoder.ts";
import { openEngine, quoteName } from "./instance.ts";
import { createJsonSource } from "./json-source.ts";
import { KAFKA_FIELD, KAFKA_STRUCT, loadOrigins } from "./kafka-column.ts";
import type { RawBatch } from "./raw-batch.ts";
import { writeRowFiles } from "./row-files.ts";
import { readText, TEXT_SCHEMA } from "./text-source.ts";

export type EncoderOptions = {
  /** A folder of its own: it may touch nothing else, and files of failed encodes stay in it. */
  stagingDir: string;
  memoryLimitBytes: number;
  threads: number;
};

/** Opens a DuckDB of its own. One batch is encoded at a time; further calls wait. */
export async function createEncoder(options: EncoderOptions): Promise<Encoder> {
  const { stagingDir } = options;
  const engine = await openEngine({
    memoryLimitBytes: options.memoryLimitBytes,
    threads: options.threads,
    tempDir: join(stagingDir, "spill"),
    // The table of origins is laid beside the messages by position.
    preserveOrder: true,
    allowedDirectories: [stagingDir],
  });
  const feedFile = join(stagingDir, "feed.ndjson");
  const json = createJsonSource(feedFile);
  let last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when what was asked for before is done. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work, work);
    last = turn.catch(() => undefined);
    return turn;
  }

  async function encode(batch: RawBatch, plan: EncodePlan, signal: AbortSignal): Promise<Encoded> {
    const source =
      plan.format === "text" ? readText(batch, plan.schema) : await json.read(batch, plan, signal);
    const { places, bad } = source;
    const counts = new Map<number, { rows: number; skipped: number }>();
    for (let i = 0; i < batch.length; i++) counts.set(batch.partition(i), { rows: 0, skipped: 0 });
    for (const place of places) counts.get(batch.partition(place))!.rows++;
    const evolvedSchema = source.schema === plan.schema ? undefined : source.schema;
    if (places.length === 0) return { files: [], bad, counts, evolvedSchema };

    await loadOrigins(engine, batch, places, { withValues: plan.format === "text" });
    const columns = source.schema.fields
      .filter((field) => field.type !== "void")
      .map((field) => {
        const isKafka = field.name === KAFKA_FIELD.name && plan.metadata;
        return `${isKafka ? KAFKA_STRUCT : columnOf(field)} AS ${quoteName(field.name)}`;
      });
    function columnOf(field: StructField): string {
      if (field.name !== "date" || !plan.deriveDate) return source.column(field);
      return `coalesce(${source.column(field)}, strftime(make_timestamptz(origin.micros), '%Y-%m-%d'))`;
    }
    await engine.run(
      `CREATE OR REPLACE TEMP TABLE rows AS SELECT ${columns.join(", ")} FROM ${source.from}`,
      {
        signal,
      },
    );
    const [made] = await engine.rows("SELECT count(*) AS count FROM rows", { signal });
    if (Number(made!.count) !== places.length)
      throw new LabError("INTERNAL", `${places.length} messages became ${made!.count} rows`);
    const files = await writeRowFiles({
      engine,
      from: "rows",
      schema: source.schema,
      partitionColumns: plan.partitionColumns,
      stagingDir,
      signal,
    });
    return { files, bad, counts, evolvedSchema };
  }

  return {
    encode: (batch, plan, signal) =>
      inTurn(async () => {
        try {
          return await encode(batch, plan, signal);
        } finally {
          await engine.run("DROP TABLE IF EXISTS rows; DROP TABLE IF EXISTS origins");
          await rm(feedFile, { force: true });
        }
      }),
    inferSchema: (batch, plan, signal) =>
      inTurn(async () => (plan.format === "text" ? TEXT_SCHEMA : json.infer(batch, signal))),
    checkTransform: () => Promise.reject(new LabError("TRANSFORM_REFUSED", "not there yet")),
    async close() {
      await last;
      engine.close();
    },
  };
}
