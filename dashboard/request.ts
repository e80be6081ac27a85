/** What a request asks for, checked; and whether somebody still waits for the answer. */

import type { Response } from "express";
import type { z } from "zod";
import { LabError } from "../core/errors.ts";

/** REQUEST_INVALID names the field and what is wrong with it. */
export function parse<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { path, message } = result.error.issues[0]!;
  const name = path.join(".");
  throw new LabError("REQUEST_INVALID", name === "" ? message : `${name}: ${message}`);
}

/** Aborts when the reader goes away, so that nobody computes an answer that nobody reads. */
export function whileOpen(response: Response): AbortSignal {
  const controller = new AbortController();
  response.on("close", () => controller.abort(new Error("the reader went away")));
  return controller.signal;
}
