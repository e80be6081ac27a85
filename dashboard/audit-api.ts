/** GET /api/audit?date=2026-11-29&tz=Europe/Berlin: whether a day is complete, with what each window holds. */

import { Router } from "express";
import { z } from "zod";
import { LabError } from "../core/errors.ts";
import type { AuditControl } from "./audit.ts";
import { sendJson } from "./reply.ts";
import { parse, whileOpen } from "./request.ts";

const Day = z.object({
  date: z.string().min(1).max(20).default("today"),
  tz: z.string().min(1).max(100).default("UTC"),
});

export function auditRoutes(audit: Pick<AuditControl, "day"> | null): Router {
  const api = Router();
  api.get("/audit", async (request, response) => {
    const { date, tz } = parse(Day, request.query);
    if (audit === null)
      throw new LabError("TABLE_NOT_FOUND", "this dashboard has no audit to look at", {
        hint: "lab dashboard and lab up have one",
      });
    await sendJson(request, response, await audit.day(date, tz, whileOpen(response)));
  });
  return api;
}
