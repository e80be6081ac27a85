/** How the dashboard answers: JSON with longs as strings, gzip where it pays, errors as `{code, message, hint}`. */

import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { NextFunction, Request, Response } from "express";
import { asLabError, type ErrorCode, LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { toJson } from "../core/ops.ts";

const compress = promisify(gzip);

/** Below this a reply fits into a few packets anyway. */
const GZIP_FROM_BYTES = 4096;

/** Sends `value` as JSON that no cache keeps. */
export async function sendJson(
  request: Request,
  response: Response,
  value: unknown,
  status = 200,
): Promise<void> {
  response.status(status).set({ "cache-control": "no-store", vary: "accept-encoding" });
  response.type("application/json");
  const text = toJson(value);
  if (text.length < GZIP_FROM_BYTES || !request.acceptsEncodings("gzip")) {
    response.send(text);
    return;
  }
  response.set("content-encoding", "gzip").send(await compress(text));
}

const STATUS: Partial<Record<ErrorCode, number>> = {
  REQUEST_INVALID: 400,
  REQUEST_REFUSED: 403,
  USAGE: 400,
  SQL_ERROR: 400,
  SQL_REFUSED: 400,
  QUERY_LIMIT: 422,
  TABLE_NOT_FOUND: 404,
  NOT_A_TABLE: 404,
  VERSION_NOT_FOUND: 404,
  TIMESTAMP_NOT_FOUND: 404,
  DATA_FILE_MISSING: 410,
};

/** The last middleware: any failure as JSON. What is a bug is logged with its cause and told without details. */
export function replyError(log: Log) {
  return async (failure: unknown, request: Request, response: Response, _: NextFunction): Promise<void> => {
    const error = fromBody(failure) ?? asLabError(failure);
    const status = Number(error.details.status ?? STATUS[error.code] ?? (error.retryable ? 503 : 500)) || 500;
    if (status >= 500) log.error({ err: failure, code: error.code, path: request.path }, "a request failed");
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const { position } = error.details;
    const body =
      error.code === "INTERNAL"
        ? { code: error.code, message: "the dashboard failed on this request", hint: "its log says why" }
        : { ...error.toJSON(), ...(typeof position === "number" ? { position } : {}) };
    await sendJson(request, response, body, status);
  };
}

/** What express says of a bad path or body, in our words. */
function fromBody(failure: unknown): LabError | undefined {
  const { status, type } = (failure ?? {}) as { status?: unknown; type?: unknown };
  if (typeof status !== "number" || status < 400 || status > 499) return undefined;
  const message =
    type === "entity.too.large"
      ? "the body is larger than 256 KiB"
      : type === "entity.parse.failed"
        ? "the body is not valid JSON"
        : "the request cannot be read";
  return new LabError("REQUEST_INVALID", message, { details: { status }, cause: failure });
}
