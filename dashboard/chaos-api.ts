/** What can be broken, POST /api/chaos/NAME to break it, and POST /api/chaos/heal. */

import express, { Router } from "express";
import { z } from "zod";
import { FAULT_NAMES, FAULTS } from "./chaos.ts";
import type { ChaosWatch } from "./chaos-watch.ts";
import type { EventStreams } from "./events.ts";
import { sendJson } from "./reply.ts";
import { parse, whileOpen } from "./request.ts";

const Asked = z.object({ table: z.string().min(1) });
const Named = z.object({ name: z.enum([...FAULT_NAMES, "heal"]) });

/** Faults are aimed at what the last look saw, told to every page at once, and followed to their end. */
export function chaosRoutes(
  chaos: ChaosWatch,
  events: Pick<EventStreams, "tell" | "look" | "follow">,
): Router {
  const api = Router();
  api.get("/chaos", async (request, response) => {
    const { table } = parse(Asked, request.query);
    const signal = whileOpen(response);
    await events.look(signal);
    const refusals = await chaos.refusals(table, signal);
    const faults = FAULTS.map((fault) => ({ ...fault, refusal: refusals?.[fault.name] ?? null }));
    await sendJson(request, response, { isOn: refusals !== null, faults, runs: chaos.runs() });
  });
  api.post("/chaos/:name", express.json({ limit: "16kb" }), async (request, response) => {
    const { name } = parse(Named, request.params);
    // A closed page does not undo what was begun.
    const signal = new AbortController().signal;
    if (name === "heal") await chaos.heal(signal);
    else {
      const { table } = parse(Asked, request.body);
      await events.look(signal);
      await chaos.start(name, table, signal);
      events.follow();
    }
    events.tell("chaos", chaos.runs());
    await sendJson(request, response, chaos.runs());
  });
  return api;
}
