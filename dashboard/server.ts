/** The dashboard: an Express app over two ports. Whoever calls listens, and closes. */

import { fileURLToPath } from "node:url";
import express, { type Express, type NextFunction, type Request, type Response } from "express";
import { Counter, Gauge, Registry } from "prom-client";
import { asLabError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Alert } from "./alerts.ts";
import { apiRoutes } from "./api.ts";
import type { AuditControl } from "./audit.ts";
import { auditRoutes } from "./audit-api.ts";
import { chaosRoutes } from "./chaos-api.ts";
import { watchChaos } from "./chaos-watch.ts";
import type { LabControl } from "./control.ts";
import { eventStreams } from "./events.ts";
import { bindPage, checkHost, checkPost } from "./guard.ts";
import type { LedgerWatch } from "./ledger-watch.ts";
import { replyError, sendJson } from "./reply.ts";
import type { MarkReader, PositionReader, TableReader } from "./tables.ts";
import { workRoutes } from "./work-api.ts";

export type DashboardOptions = {
  tables: TableReader;
  control: LabControl;
  /** Host names (`localhost`) or names with a port that the Host header may hold. */
  allowedHosts: readonly string[];
  /** Made at each start; needed for every POST but /api/query, in the header `x-lab-token`. */
  token: string;
  /** What GET /api/alerts answers; none where nobody watches. */
  alerts?: () => Alert[];
  /** Which files and versions hold a record; nothing is found where it is absent. */
  positions?: Pick<PositionReader, "find">;
  /** Checkpoints and unreadable versions; none are known where it is absent. */
  marks?: MarkReader;
  /** What GET /api/ledger answers and the page shows; none where nobody counts. */
  ledger?: Pick<LedgerWatch, "ledgers" | "listen">;
  /** What GET /api/audit answers; absent where nothing is audited. */
  audit?: Pick<AuditControl, "day">;
  /** Where its numbers are kept; one of its own unless given. */
  registry?: Registry;
  log: Log;
  now?: () => number;
};

const NO_POSITIONS = { find: async () => null };
const NO_MARKS: MarkReader = async () => ({ checkpoints: [], unreadable: [] });
const NO_LEDGER: Pick<LedgerWatch, "ledgers" | "listen"> = { ledgers: () => [], listen: () => () => {} };

const PAGE = fileURLToPath(new URL("./page/", import.meta.url));
const CHART = fileURLToPath(new URL("./chart.umd.min.js", import.meta.resolve("chart.js")));
const READY_WITHIN_MS = 2_000;

/**
 * The page and its API. Reads nothing before the first request, and looks at the lab only while a page watches or something is broken on purpose.
 * Event streams stay open: who closes the server also calls `closeAllConnections()`.
 */
export function createDashboard(options: DashboardOptions): Express {
  const {
    tables,
    control,
    allowedHosts,
    token,
    alerts = () => [],
    ledger = NO_LEDGER,
    registry = new Registry(),
    log,
    now = Date.now,
  } = options;
  const chaos = watchChaos({ control: control.chaos ?? null, streams: control.streams(), ledger, log, now });
  const work = workRoutes({
    ...{ work: control.work ?? null, log, now },
    told: (event, data) => events.tell(event, data),
  });
  const events = eventStreams({ tables, control, alerts, chaos, jobs: work.jobs, ledger, log, now });
  const app = express();
  app.disable("x-powered-by").disable("etag").set("query parser", "simple");

  app.use(bindPage, countRequests(registry), checkHost(allowedHosts), checkPost(token, ["/api/query"]));
  new Gauge({
    name: "lab_dashboard_event_streams",
    help: "Pages that watch live",
    registers: [registry],
    collect() {
      this.set(events.count());
    },
  });

  app.get("/healthz", (_, response) => void response.type("text/plain").send("ok\n"));
  app.get("/readyz", async (_, response) => {
    const problem = await tables.tables(AbortSignal.timeout(READY_WITHIN_MS)).then(() => null, asLabError);
    response.status(problem === null ? 200 : 503).type("text/plain");
    response.send(problem === null ? "ready\n" : `not ready: the store does not answer (${problem.code})\n`);
  });
  app.get("/metrics", async (_, response) => {
    response.type(registry.contentType).send(await registry.metrics());
  });

  app.get("/api/events", events.handle);
  app.get("/api/alerts", (request, response) => sendJson(request, response, alerts()));
  app.get("/api/ledger", (request, response) => {
    const lines = ledger
      .ledgers()
      .flatMap(({ table, verdict, lines }) => lines.map((line) => ({ table, verdict, ...line })));
    return sendJson(request, response, lines);
  });
  app.use("/api", auditRoutes(options.audit ?? null));
  app.use("/api", work.routes);
  app.use("/api", chaosRoutes(chaos, events));
  app.use("/api", apiRoutes(tables, options.positions ?? NO_POSITIONS, options.marks ?? NO_MARKS));

  // Asked anew each time, answered from the cache while unchanged: an upgrade is never half seen.
  const asset = { cacheControl: false, headers: { "cache-control": "no-cache" } };
  app.get("/vendor/chart.js", (_, response) => response.sendFile(CHART, asset));
  app.use(
    "/page",
    express.static(PAGE, { index: false, setHeaders: (reply) => void reply.set(asset.headers) }),
  );
  app.get(["/", "/t/*rest", "/sql"], (_, response) =>
    response.sendFile("index.html", { root: PAGE, ...asset }),
  );
  app.get("/audit", (_, response) => response.sendFile("audit.html", { root: PAGE, ...asset }));
  app.use((_, response) => void response.status(404).type("text/plain").send("not found\n"));
  app.use(replyError(log));
  return app;
}

function countRequests(registry: Registry) {
  const requests = new Counter({
    name: "lab_dashboard_requests_total",
    help: "Requests answered, by route and status",
    labelNames: ["route", "status"],
    registers: [registry],
  });
  return (request: Request, response: Response, next: NextFunction) => {
    response.on("finish", () => {
      const route: unknown = request.route?.path;
      requests.inc({ route: typeof route === "string" ? route : "other", status: response.statusCode });
    });
    next();
  };
}
