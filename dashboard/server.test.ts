import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { silentLog } from "../core/log.ts";
import { type FakeLab, fakeLab } from "../test/support/fake-lab.ts";
import type { Alert } from "./alerts.ts";
import { createDashboard } from "./server.ts";
import type { Problem, QueryAnswer, ResultSet, TableSummary, VersionDetail, VersionEntry } from "./tables.ts";

type Reply = { status: number; headers: IncomingMessage["headers"]; body: string; json<T = Told>(): T };
type Told = { code: string; message: string; position?: number };
type WithRows = VersionDetail & { preview: ResultSet };
type Ask = { method?: string; headers?: Record<string, string>; body?: string };

async function serve(t: TestContext, lab: FakeLab = fakeLab(), alerts: Alert[] = []) {
  const app = createDashboard({
    ...{ tables: lab.tables, control: lab.control, token: "secret", log: silentLog },
    alerts: () => alerts,
    allowedHosts: ["127.0.0.1", "localhost"],
  });
  const server = app.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  // Not fetch: it sets Host and Origin itself, and these are what is tested.
  const ask = (path: string, { method = "GET", headers = {}, body }: Ask = {}): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port, path, method, headers }, async (response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        const text = Buffer.concat(chunks).toString();
        resolve({
          ...{ status: response.statusCode ?? 0, headers: response.headers, body: text },
          json: <T>() => JSON.parse(text) as T,
        });
      });
      sent.on("error", reject).end(body);
    });
  const post = (path: string, value: unknown, headers: Record<string, string> = {}) =>
    ask(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: typeof value === "string" ? value : JSON.stringify(value),
    });
  return { lab, port, ask, post };
}

test("tables, history and a version are served with longs as strings", async (t) => {
  const { ask, lab } = await serve(t);
  assert.deepEqual(
    (await ask("/api/tables")).json<TableSummary[]>().map((table) => table.name),
    ["my_topic", "orders"],
  );
  const history = (await ask("/api/tables/orders/history?after=9&limit=2")).json<VersionEntry[]>();
  assert.deepEqual(
    history.map((entry) => entry.version),
    [12, 11],
    "newest first, above `after`, at most `limit`",
  );
  const version = (await ask("/api/tables/orders/versions/7?rows=3")).json<WithRows>();
  assert.equal(version.rows, String(lab.rowsAt(7)));
  assert.equal(version.preview.rows.length, 3);
  assert.equal(typeof version.preview.rows[0]?.[0], "string");
  assert.equal((await ask("/api/tables/orders/versions/7")).json<Partial<WithRows>>().preview, undefined);
});

test("alerts are served as the last look found them", async (t) => {
  const alert: Alert = {
    ...{ name: "LabPaused", severity: "warning", topic: "orders", table: "orders", part: null },
    ...{ since: "2026-11-30T00:00:00.000Z", message: "waits: the store is away" },
  };
  const { ask } = await serve(t, fakeLab(), [alert]);
  assert.deepEqual((await ask("/api/alerts")).json<Alert[]>(), [alert]);
});

test("a version whose files are gone still shows its schema, and says why it has no rows", async (t) => {
  const { ask, lab } = await serve(t);
  lab.faults.unreadableBelow = 9;
  const { status, json } = await ask("/api/tables/orders/versions/3?rows=5");
  assert.equal(status, 200);
  const { preview, schema } = json<VersionDetail & { preview: { problem: Problem } }>();
  assert.equal(preview.problem.code, "DATA_FILE_MISSING");
  assert.ok(schema.length > 0);
});

test("long answers are compressed for those who accept it", async (t) => {
  const { ask } = await serve(t, fakeLab(200));
  const plain = await ask("/api/tables/orders/history");
  const packed = await ask("/api/tables/orders/history", { headers: { "accept-encoding": "gzip" } });
  assert.equal(plain.headers["content-encoding"], undefined);
  assert.equal(packed.headers["content-encoding"], "gzip");
  assert.ok(packed.body.length < plain.body.length / 4);
});

test("a query answers columns, rows and version; an error has code and position", async (t) => {
  const { post, lab } = await serve(t);
  const answer = await post("/api/query", { sql: "SELECT * FROM orders", version: 4 });
  assert.equal(answer.status, 200);
  assert.equal(answer.json<QueryAnswer>().version, 4);
  assert.deepEqual(lab.queries.at(-1), { sql: "SELECT * FROM orders", version: 4 });
  const wrong = await post("/api/query", { sql: "SELEC 1" });
  assert.equal(wrong.status, 400);
  assert.deepEqual([wrong.json().code, wrong.json().position], ["SQL_ERROR", 0]);
});

test("a reader who goes away ends the query", async (t) => {
  const { lab, port } = await serve(t);
  let ended: (value: unknown) => void = () => undefined;
  const over = new Promise((resolve) => {
    ended = resolve;
  });
  const query = lab.tables.query;
  lab.tables.query = (ask, signal) => query(ask, signal).finally(() => ended(null));
  const controller = new AbortController();
  const running = fetch(`http://127.0.0.1:${port}/api/query`, {
    ...{ method: "POST", signal: controller.signal, body: '{"sql":"SELECT forever"}' },
    headers: { "content-type": "application/json" },
  });
  while (lab.queries.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  controller.abort();
  await assert.rejects(running);
  await over;
});

test("every bad request gets a status, a code, a message and no stack", async (t) => {
  const { ask, post, lab } = await serve(t);
  const cases: [Promise<Reply>, number, string][] = [
    [ask("/api/tables/nothere/history"), 404, "TABLE_NOT_FOUND"],
    [ask("/api/tables/orders/versions/99"), 404, "VERSION_NOT_FOUND"],
    [ask("/api/tables/orders/versions/seven"), 400, "REQUEST_INVALID"],
    [ask("/api/tables/orders/versions/-1"), 400, "REQUEST_INVALID"],
    [ask("/api/tables/orders/versions/1?rows=100000"), 400, "REQUEST_INVALID"],
    [ask("/api/tables/orders/history?limit=0"), 400, "REQUEST_INVALID"],
    [ask("/api/tables/orders/diff?from=1"), 400, "REQUEST_INVALID"],
    [ask("/api/tables/orders/diff?from=1&to=99"), 404, "VERSION_NOT_FOUND"],
    [ask("/api/tables/orders/history?after=x"), 400, "REQUEST_INVALID"],
    [ask("/api/tables/%ff/history"), 400, "REQUEST_INVALID"],
    [ask("/api/nothing"), 404, "REQUEST_INVALID"],
    [post("/api/query", {}), 400, "REQUEST_INVALID"],
    [post("/api/query", { sql: "SELECT 1", surplus: true }), 400, "REQUEST_INVALID"],
    [post("/api/query", { sql: "SELECT 1", version: 1, at: "2026-11-29T20:00:00Z" }), 400, "REQUEST_INVALID"],
    [post("/api/query", "{not json"), 400, "REQUEST_INVALID"],
    [post("/api/query", JSON.stringify({ sql: "x".repeat(300_000) })), 413, "REQUEST_INVALID"],
    [ask("/api/query", { method: "POST", body: "sql=1" }), 415, "REQUEST_INVALID"],
    [ask("/api/tables", { method: "DELETE" }), 405, "REQUEST_INVALID"],
  ];
  for (const [reply, status, code] of cases) {
    const { status: got, body, json } = await reply;
    assert.equal(got, status, body);
    assert.equal(json().code, code, body);
    assert.ok(json().message.length > 5);
    assert.doesNotMatch(body, /node_modules|\bat .*:\d+:\d+/);
  }
  lab.tables.tables = () => Promise.reject(new TypeError("secret detail at /some/path"));
  const bug = await ask("/api/tables");
  assert.equal(bug.status, 500);
  assert.doesNotMatch(bug.body, /secret|path/);
});

test("a request under another host or from another origin is refused", async (t) => {
  const { ask, post, port } = await serve(t);
  for (const host of ["evil.example", `evil.example:${port}`, "localhost.evil.example"])
    assert.equal((await ask("/api/tables", { headers: { host } })).status, 403, host);
  assert.equal((await ask("/", { headers: { host: "evil.example" } })).status, 403);
  for (const host of [`localhost:${port}`, "LOCALHOST", `127.0.0.1:${port}`])
    assert.equal((await ask("/api/tables", { headers: { host } })).status, 200, host);
  for (const origin of ["http://evil.example", "null", `http://localhost:${port + 1}`, "nonsense"])
    assert.equal((await post("/api/query", { sql: "SELECT 1" }, { origin })).status, 403, origin);
  const own = `http://127.0.0.1:${port}`;
  assert.equal((await post("/api/query", { sql: "SELECT 1" }, { origin: own })).status, 200);
  assert.equal(
    (await post("/api/query", { sql: "SELECT 1" }, { "sec-fetch-site": "cross-site" })).status,
    403,
  );
});

test("a POST to anything but the query needs the token of this start", async (t) => {
  const { post } = await serve(t);
  for (const token of [{}, { "x-lab-token": "wrong" }] as Record<string, string>[]) {
    const { status, json } = await post("/api/chaos/kill", {}, token);
    assert.deepEqual([status, json().code], [403, "REQUEST_REFUSED"]);
  }
  assert.equal((await post("/api/chaos/kill", {}, { "x-lab-token": "secret" })).status, 400);
  assert.equal((await post("/api/nothing", {}, { "x-lab-token": "secret" })).status, 404);
});

test("the page is served for every link, bound to its own origin, with nothing inline", async (t) => {
  const { ask } = await serve(t);
  for (const path of ["/", "/t/orders?version=3", "/t/orders/schema", "/sql?q=SELECT%201"]) {
    const { status, headers, body } = await ask(path);
    assert.equal(status, 200, path);
    assert.match(headers["content-type"]!, /text\/html/);
    const policy = headers["content-security-policy"] as string;
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe|https?:|\*/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    assert.doesNotMatch(body, /<script(?![^>]* src=)|<style| style=| on[a-z]+=|https?:\/\/(?!www\.w3\.org)/);
    for (const [, file] of body.matchAll(/(?:src|href)="(\/(?:page|vendor)\/[^"]+)"/g))
      assert.equal((await ask(file!)).status, 200, file);
  }
  assert.equal((await ask("/page/../server.ts")).status, 404);
  assert.equal((await ask("/page/%2e%2e/server.ts")).status, 404);
  assert.equal((await ask("/nothing")).status, 404);
});

test("health, readiness and metrics tell the truth", async (t) => {
  const { ask, lab } = await serve(t);
  assert.equal((await ask("/healthz")).status, 200);
  assert.equal((await ask("/readyz")).status, 200);
  await ask("/api/tables/orders/history");
  assert.match((await ask("/metrics")).body, /lab_dashboard_requests_total\{[^}]*history[^}]*\} 1/);
  lab.faults.storeGone = true;
  assert.equal((await ask("/healthz")).status, 200);
  const { status, body } = await ask("/readyz");
  assert.equal(status, 503);
  assert.match(body, /STORE_UNREACHABLE/);
});
