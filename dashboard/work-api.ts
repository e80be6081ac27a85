/** Letters and upkeep over HTTP. A chore is begun by a POST and followed by every page; closing one ends nothing. */

import express, { type Request, type Response, Router } from "express";
import { z } from "zod";
import { asLabError, LabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { sendJson } from "./reply.ts";
import { parse, whileOpen } from "./request.ts";
import type { Chore, Job, WorkControl } from "./work.ts";

const MOST_LETTERS = 500;
const KEPT_JOBS = 20;

const place = z.string().regex(/^\d{1,9}:\d{1,18}$/, "is no PARTITION:OFFSET");
const topic = z.string().min(1).max(249);
const Listed = z.object({ state: z.enum(["open", "replayed", "dropped", "all"]).default("open") });
const One = z.object({ topic, place });
const Letters = z.strictObject({
  topic,
  letters: z.array(place).min(1).max(MOST_LETTERS),
  dryRun: z.boolean().default(false),
});
const Vacuum = z.strictObject({ dryRun: z.boolean().default(true) });
const Restore = z.strictObject({ version: z.number().int().min(0) });

/** Closing the server ends what still runs by `signal`. */
export function workRoutes(options: {
  work: WorkControl | null;
  told: (event: string, data: unknown) => void;
  log: Log;
  now: () => number;
}): { routes: Router; jobs: () => readonly Job[] } {
  const { told, log, now } = options;
  let jobs: Job[] = [];
  const need = (): WorkControl => {
    if (options.work === null) throw new LabError("REQUEST_INVALID", "this dashboard cannot change tables");
    return options.work;
  };
  const iso = () => new Date(now()).toISOString();
  const change = (id: number, patch: Partial<Job>) => {
    jobs = jobs.map((job) => (job.id === id ? { ...job, ...patch } : job));
    told("jobs", jobs);
  };

  function begin(table: string, chore: Chore, what: string): Job {
    const work = need();
    const running = jobs.find((job) => job.table === table && job.endedAt === null);
    if (running !== undefined)
      throw new LabError("REQUEST_INVALID", `${running.what} of ${table} is not over yet`, {
        hint: "wait until it is",
      });
    const job: Job = {
      ...{ id: (jobs[0]?.id ?? 0) + 1, table, what, startedAt: iso() },
      ...{ endedAt: null, progress: null, result: null, problem: null },
    };
    jobs = [job, ...jobs].slice(0, KEPT_JOBS);
    told("jobs", jobs);
    log.info({ table, what }, "a chore begins");
    work
      .perform(table, chore, (progress) => change(job.id, { progress }), new AbortController().signal)
      .then(
        (result) => change(job.id, { result, endedAt: iso() }),
        (error: unknown) => change(job.id, { problem: asLabError(error).toJSON(), endedAt: iso() }),
      );
    return job;
  }
  const post = <T extends z.ZodType>(
    schema: T,
    chore: (body: z.output<T>) => { chore: Chore; what: string },
  ) =>
    [
      express.json({ limit: "64kb" }),
      async (request: Request<{ table: string }>, response: Response) => {
        const asked = chore(parse(schema, request.body ?? {}));
        await sendJson(request, response, begin(request.params.table, asked.chore, asked.what), 202);
      },
    ] as const;

  const routes = Router();
  routes.get("/letters/:table", async (request, response) => {
    const { state } = parse(Listed, request.query);
    const states = state === "all" ? ["open", "replayed", "dropped"] : [state];
    const asked = { states, limit: MOST_LETTERS };
    await sendJson(request, response, await need().letters(request.params.table, asked, whileOpen(response)));
  });
  routes.get("/letters/:table/one", async (request, response) => {
    const { topic, place } = parse(One, request.query);
    const signal = whileOpen(response);
    await sendJson(request, response, await need().letter(request.params.table, topic, place, signal));
  });
  for (const kind of ["replay", "drop"] as const)
    routes.post(
      `/letters/:table/${kind}`,
      ...post(Letters, ({ dryRun, ...of }) => ({
        chore: { kind, ...of, dryRun },
        what: dryRun ? `Trial ${kind}` : kind === "replay" ? "Replay" : "Drop",
      })),
    );
  routes.post(
    "/tables/:table/optimize",
    ...post(z.strictObject({}), () => ({ chore: { kind: "optimize" }, what: "Optimize" })),
  );
  routes.post(
    "/tables/:table/vacuum",
    ...post(Vacuum, ({ dryRun }) => ({
      chore: { kind: "vacuum", dryRun },
      what: dryRun ? "Vacuum, dry run" : "Vacuum",
    })),
  );
  routes.post(
    "/tables/:table/restore",
    ...post(Restore, ({ version }) => ({
      chore: { kind: "restore", version },
      what: `Restore of version ${version}`,
    })),
  );
  return { routes, jobs: () => jobs };
}
