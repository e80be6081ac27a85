/** The read API and the SQL console's POST /api/query (contracts.md, "HTTP"). */

import express, { type Request, Router } from "express";
import { z } from "zod";
import { LabError } from "../core/errors.ts";
import { sendJson } from "./reply.ts";
import { parse, whileOpen } from "./request.ts";
import type { MarkReader, PositionReader, TableReader } from "./tables.ts";

const MAX_VERSIONS = 10_000;
const MAX_PREVIEW_ROWS = 1_000;

const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const HistoryRange = z.object({
  after: count.optional(),
  before: count.optional(),
  limit: count.min(1).max(MAX_VERSIONS).default(1_000),
});
const VersionPath = z.object({ version: count });
const Preview = z.object({ rows: count.max(MAX_PREVIEW_ROWS).default(0) });
const DiffRange = z.object({
  from: count,
  to: count,
  rows: count.max(MAX_PREVIEW_ROWS).default(100),
});
const long = z.string().regex(/^\d{1,18}$/, "is no offset");
const Point = z
  .object({
    at: z.string().min(1).optional(),
    offset: z
      .string()
      .regex(/^\d{1,9}:\d{1,18}$/, "is no PARTITION:OFFSET")
      .optional(),
  })
  .refine(({ at, offset }) => (at === undefined) !== (offset === undefined), "give at or offset");
const RecordPlace = z.object({ topic: z.string().min(1), partition: count, offset: long });
const Query = z
  .strictObject({
    sql: z.string().trim().min(1).max(100_000),
    version: z.number().int().min(0).optional(),
    at: z.iso.datetime({ offset: true }).optional(),
  })
  .refine((query) => query.version === undefined || query.at === undefined, "give version or at, not both");

/** Routes under /api, without /api/events. */
export function apiRoutes(
  tables: TableReader,
  positions: Pick<PositionReader, "find">,
  marks: MarkReader,
): Router {
  const api = Router();

  api.get("/tables", async (request, response) => {
    await sendJson(request, response, await tables.tables(whileOpen(response)));
  });

  api.get("/tables/:table/history", async (request, response) => {
    const range = parse(HistoryRange, request.query);
    await sendJson(request, response, await tables.history(request.params.table, range, whileOpen(response)));
  });

  api.get("/tables/:table/marks", async (request, response) => {
    await sendJson(request, response, await marks(request.params.table, whileOpen(response)));
  });

  api.get("/tables/:table/versions/:version", async (request, response) => {
    const { table } = request.params;
    const { version } = parse(VersionPath, { version: request.params.version });
    const { rows: limit } = parse(Preview, request.query);
    const signal = whileOpen(response);
    if (limit === 0) return sendJson(request, response, await tables.version(table, version, signal));
    // A version whose files are gone still has a schema and a list of files to show.
    const asked = tables.rows(table, version, limit, signal).catch((error: unknown) => {
      if (error instanceof LabError && !error.retryable) return { problem: error.toJSON() };
      throw error;
    });
    // The version is described while DuckDB reads its rows.
    const [preview, detail] = await Promise.all([asked, tables.version(table, version, signal)]);
    await sendJson(request, response, { ...detail, preview });
  });

  api.get("/tables/:table/commits/:version", async (request, response) => {
    const { version } = parse(VersionPath, { version: request.params.version });
    await sendJson(
      request,
      response,
      await tables.commit(request.params.table, version, whileOpen(response)),
    );
  });

  api.get("/tables/:table/at", async (request, response) => {
    const { at, offset } = parse(Point, request.query);
    const [partition = "", place = ""] = (offset ?? "").split(":");
    const point = at !== undefined ? { at } : { partition: Number(partition), offset: BigInt(place || "0") };
    const version = await tables.versionAt(request.params.table, point, whileOpen(response));
    await sendJson(request, response, { version });
  });

  api.get("/tables/:table/origin", async (request, response) => {
    const { topic, partition, offset } = parse(RecordPlace, request.query);
    const record = { topic, partition, offset: BigInt(offset) };
    await sendJson(
      request,
      response,
      await positions.find(request.params.table, record, whileOpen(response)),
    );
  });

  api.get("/tables/:table/diff", async (request, response) => {
    const { from, to, rows: maxRows } = parse(DiffRange, request.query);
    const signal = whileOpen(response);
    await sendJson(request, response, await tables.diff(request.params.table, { from, to, maxRows }, signal));
  });

  api.post("/query", express.json({ limit: "256kb" }), async (request, response) => {
    const { sql, version, at } = parse(Query, request.body);
    const point = { ...(version === undefined ? {} : { version }), ...(at === undefined ? {} : { at }) };
    await sendJson(request, response, await tables.query({ sql, ...point }, whileOpen(response)));
  });

  api.use((request: Request) => {
    throw new LabError("REQUEST_INVALID", `there is no ${request.method} ${request.baseUrl}${request.path}`, {
      hint: "the routes are in dashboard/README.md",
      details: { status: 404 },
    });
  });
  return api;
}
