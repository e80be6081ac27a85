/** The encoder over DuckDB: messages are checked and fed as a file, converted into a table, perhaps transformed, and copied out as Parquet. */

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { LabError } from "../core/errors.ts";
import type { StructType } from "../delta/types.ts";
import { type Check, type ConstrainedTable, compileConstraints } from "./constraints.ts";
import { encodeApart } from "./encode-apart.ts";
import type { BadRecord, Encoded, EncodePlan, Encoder } from "./encoder.ts";
import { openEngine } from "./instance.ts";
import { inferMessages } from "./json-evolve.ts";
import { createJsonSource, type Source } from "./json-source.ts";
import { withRawValue } from "./kafka-column.ts";
import { rowsOfMessages } from "./message-rows.ts";
import { loadOrigins, type Origins } from "./origins.ts";
import { createRawBatch, type RawBatch } from "./raw-batch.ts";
import { checkRoute, ROUTE, refuseRoutes, routeRows } from "./route.ts";
import { writeRowFiles } from "./row-files.ts";
import { INDEX_FIELD, requireIndex } from "./row-index.ts";
import { plainSchema, readPlain } from "./text-source.ts";
import {
  applyTransform,
  loadMessages,
  mergeYield,
  PLACE,
  prepareTransform,
  rowsByPlace,
  type Transform,
} from "./transform.ts";
import { dropViolators } from "./violations.ts";
import { dropWritten } from "./written.ts";

export type EncoderOptions = {
  /** A folder of its own: it may touch nothing else, and files of failed encodes stay in it. */
  stagingDir: string;
  memoryLimitBytes: number;
  threads: number;
};

const NO_COLUMNS: StructType = { type: "struct", fields: [] };
const CLEAR = `DROP TABLE IF EXISTS rows; DROP VIEW IF EXISTS messages; DROP TABLE IF EXISTS all_messages;
  DROP TABLE IF EXISTS origins; DROP TABLE IF EXISTS combinations; DROP TABLE IF EXISTS written`;

/** Opens a DuckDB of its own. One batch is encoded at a time; further calls wait. */
export async function createEncoder(options: EncoderOptions): Promise<Encoder> {
  const { stagingDir } = options;
  await mkdir(stagingDir, { recursive: true });
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
  /** The transform used last, under its text and input: checking it anew for each batch would cost more than running it. */
  const prepared = new Map<string, Transform>();
  /** The same for constraints. */
  const compiled = new Map<string, Check[]>();
  /** The same for routes. */
  const checkedRoutes = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when what was asked for before is done, and clears up after it. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const cleared = async () => {
      try {
        return await work();
      } finally {
        await engine.run(CLEAR);
        await rm(feedFile, { force: true });
      }
    };
    const turn = last.then(cleared, cleared);
    last = turn.catch(() => undefined);
    return turn;
  }

  async function encode(batch: RawBatch, asked: EncodePlan, signal: AbortSignal): Promise<Encoded> {
    const plan = asked.keepRaw ? { ...asked, schema: withRawValue(asked.schema) } : asked;
    const source = await read(batch, plan, signal);
    const counts = emptyCounts(batch);
    const encoded: Encoded = { files: [], bad: source.bad, counts, evolvedSchema: undefined };
    if (plan.transform === undefined && source.schema !== asked.schema) encoded.evolvedSchema = source.schema;
    if (plan.transform !== undefined && source.schema !== plan.input) encoded.evolvedInput = source.schema;
    if (source.places.length === 0) return encoded;

    const { transform, route, partitionColumns, configuration = {} } = plan;
    const alreadyThere = plan.written ?? [];
    const checks = transform === undefined ? await checksOfMessages(plan, source.schema, signal) : [];
    const isTable =
      transform !== undefined || route !== undefined || checks.length > 0 || alreadyThere.length > 0;
    const origins = await loadOrigins({
      engine,
      batch,
      places: source.places,
      withValues: plan.format !== "json",
      keepRaw: plan.keepRaw,
      withPlaces: isTable,
      signal,
    });
    let { schema } = source;
    let rows = { rows: "rows", keys: "rows" };
    if (transform !== undefined) {
      schema = await makeTransformedRows({ ...plan, transform }, source, origins, encoded, batch, signal);
      if (schema !== asked.schema) encoded.evolvedSchema = schema;
    } else if (isTable) {
      const messages = rowsOfMessages(source, origins, plan, `origin.place AS ${PLACE}`);
      await engine.run(`CREATE OR REPLACE TEMP TABLE rows AS FROM ${messages.rows}`, { signal });
      const bad = await dropViolators(engine, checks, signal);
      bad.push(...(await routed(plan, schema, signal)));
      await settle(source, encoded, bad, batch, signal);
    } else {
      rows = rowsOfMessages(source, origins, plan);
      for (const place of source.places) counts.get(batch.partition(place))!.rows++;
    }
    const dropped = await dropWritten(engine, alreadyThere, schema, signal);
    const expected = [...counts.values()].reduce((sum, count) => sum + count.rows, 0) - dropped;
    if (expected > 0)
      encoded.files = await writeRowFiles({
        engine,
        ...rows,
        schema,
        partitionColumns,
        route: route === undefined ? undefined : ROUTE,
        configuration,
        stagingDir,
        signal,
      });
    const written = encoded.files.reduce((sum, file) => sum + file.rows, 0);
    if (written === expected) return encoded;
    await Promise.all(encoded.files.map(({ file }) => rm(file, { force: true })));
    throw new LabError("INTERNAL", `${expected} rows became ${written} in files`);
  }

  /** Makes the table `rows`, adds letters and counts to `encoded`, and says the schema the rows have. */
  async function makeTransformedRows(
    plan: EncodePlan & { transform: string },
    source: Source,
    origins: Origins,
    encoded: Encoded,
    batch: RawBatch,
    signal: AbortSignal,
  ): Promise<StructType> {
    const columns = source.schema.fields.map((field) => ({ field, sql: source.column(field) }));
    const count = source.places.length;
    await loadMessages(engine, { columns, origins, from: source.from, count }, signal);
    const transform = await prepare(plan.transform, source.schema, plan.keepRaw, signal);
    const schema = mergeYield(transform, plan, plan.onUnknownField === "add");
    if (plan.route !== undefined && transform.isUnnesting) requireIndex(schema);
    const failed = await applyTransform(engine, transform, { ...plan, schema }, batch.length, signal);
    const checks = await checksOf(plan, schema, signal);
    failed.push(...(await dropViolators(engine, checks, signal)));
    failed.push(...(await routed(plan, schema, signal)));
    await settle(source, encoded, failed, batch, signal);
    return schema;
  }

  /** Tells table `rows`, of `schema`, where each row goes; the letters that come of it. */
  async function routed(
    { route, refuseRoute }: EncodePlan,
    schema: StructType,
    signal: AbortSignal,
  ): Promise<BadRecord[]> {
    if (route === undefined) return [];
    const key = JSON.stringify([route, schema]);
    if (!checkedRoutes.has(key)) await checkRoute(engine, route, schema, signal);
    checkedRoutes.clear();
    checkedRoutes.add(key);
    const bad = await routeRows(engine, route, signal);
    if (refuseRoute) bad.push(...(await refuseRoutes(engine, refuseRoute, signal)));
    return bad;
  }

  /** Adds letters to `encoded`, and counts what became of each message by what stands in table `rows`. */
  async function settle(
    source: Source,
    encoded: Encoded,
    failed: readonly BadRecord[],
    batch: RawBatch,
    signal: AbortSignal,
  ): Promise<void> {
    encoded.bad = [...source.bad, ...failed].sort((a, b) => a.index - b.index);
    const made = await rowsByPlace(engine, signal);
    const letters = new Set(failed.map((bad) => bad.index));
    for (const place of source.places) {
      const count = encoded.counts.get(batch.partition(place))!;
      count.rows += made.get(place) ?? 0;
      if (!made.has(place) && !letters.has(place)) count.skipped++;
    }
  }

  /** What rows of `schema` have to fulfil in the plan's table. */
  async function checksOf(plan: Omit<EncodePlan, "schema">, schema: StructType, signal: AbortSignal) {
    const { configuration = {}, partitionColumns } = plan;
    return compile({ configuration, schema, partitionColumns }, signal);
  }

  /** The same for messages as they are: they were looked at for nulls already, but not for what partition columns store as null. */
  async function checksOfMessages(plan: EncodePlan, schema: StructType, signal: AbortSignal) {
    const isLeft = ({ kind, path }: Check) =>
      kind !== "notNull" || plan.format !== "json" || plan.partitionColumns.includes(path[0]!);
    return (await checksOf(plan, schema, signal)).filter(isLeft);
  }

  async function compile(table: ConstrainedTable, signal: AbortSignal): Promise<Check[]> {
    const key = JSON.stringify(table);
    const known = compiled.get(key) ?? (await compileConstraints(engine, table, signal));
    compiled.clear();
    compiled.set(key, known);
    return known;
  }

  /** The messages in their own schema: the table's, or, before a transform, the one it reads. */
  async function read(batch: RawBatch, plan: EncodePlan, signal: AbortSignal): Promise<Source> {
    const plain = plainSchema(plan.format);
    if (plan.format !== "json")
      return readPlain(batch, plan.transform === undefined ? plan.schema : plain!, plan.format);
    if (plan.transform === undefined) return json.read(batch, plan, signal);
    const { input, schema: hints } = plan;
    // Fields that the table ignores are still the transform's to read.
    const isStrict = input !== undefined && plan.onUnknownField === "deadletter";
    const onUnknownField = isStrict ? "deadletter" : "add";
    return json.read(batch, { schema: input ?? NO_COLUMNS, onUnknownField, hints }, signal);
  }

  async function inferInput(batch: RawBatch, format: EncodePlan["format"], signal: AbortSignal) {
    return plainSchema(format) ?? inferMessages(batch, signal);
  }

  /** The transform over `messages` as they stand, of schema `input`. */
  async function prepare(
    sql: string,
    input: StructType,
    keepRaw: boolean,
    signal: AbortSignal,
  ): Promise<Transform> {
    const key = JSON.stringify([sql, input, keepRaw]);
    const known = prepared.get(key) ?? (await prepareTransform(engine, sql, input, signal));
    prepared.clear();
    prepared.set(key, known);
    return known;
  }

  /** The transform over messages that are yet to come. */
  async function prepareAhead(
    sql: string,
    input: StructType,
    keepRaw: boolean,
    signal: AbortSignal,
  ): Promise<Transform> {
    const none = { batch: createRawBatch(), places: new Uint32Array(), withValues: false, withPlaces: true };
    const origins = await loadOrigins({ engine, ...none, keepRaw, signal });
    const columns = input.fields.map((field) => ({ field, sql: "NULL" }));
    await loadMessages(engine, { columns, origins, from: "origins AS origin", count: 0 }, signal);
    return prepare(sql, input, keepRaw, signal);
  }

  const encodeBatch = encodeApart(encode);
  return {
    encode: (batch, plan, signal) => inTurn(() => encodeBatch(batch, plan, signal)),
    inferSchema: (batch, plan, signal) =>
      inTurn(async () => {
        const input = plan.input ?? (await inferInput(batch, plan.format, signal));
        if (plan.transform === undefined || input === null) return input;
        const { transform, keepRaw = false } = plan;
        const { columns, isUnnesting } = await prepareAhead(transform, input, keepRaw, signal);
        return { type: "struct", fields: isUnnesting ? [...columns, INDEX_FIELD] : columns };
      }),
    inferInput: (batch, plan, signal) => inTurn(() => inferInput(batch, plan.format, signal)),
    checkConstraints: (table, signal) =>
      inTurn(async () => {
        await compile(table, signal);
      }),
    checkTransform: (sql, input, signal, keepRaw = false) =>
      inTurn(async () => (await prepareAhead(sql, input, keepRaw, signal)).columns),
    checkRoute: (sql, rows, signal) => inTurn(() => checkRoute(engine, sql, rows, signal)),
    async close() {
      await last;
      engine.close();
    },
  };
}

function emptyCounts(batch: RawBatch): Encoded["counts"] {
  const counts: Encoded["counts"] = new Map();
  for (let i = 0; i < batch.length; i++)
    if (!counts.has(batch.partition(i))) counts.set(batch.partition(i), { rows: 0, skipped: 0 });
  return counts;
}
