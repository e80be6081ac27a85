import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { type ErrorCode, isLabError } from "../core/errors.ts";
import { createRegistry, type RegistryOptions } from "./registry.ts";

const { signal } = new AbortController();
const SECRET = "s3cr3t-pass%word";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that answers each path as `routes` says, 404 by the registry's code elsewhere; what was asked of it. */
async function stub(t: TestContext, routes: Record<string, unknown | Answer> = {}) {
  const asked: { path: string; headers: IncomingMessage["headers"] }[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push({ path, headers: request.headers });
    const route = routes[path];
    if (typeof route === "function") return (route as Answer)(request, response);
    if (route !== undefined) return response.end(JSON.stringify(route));
    response.writeHead(404).end(JSON.stringify({ error_code: 40403, message: "Schema not found" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, routes, paths: () => asked.map(({ path }) => path) };
}

const status =
  (code: number, body: unknown = { error_code: code, message: "no" }): Answer =>
  (_, response) =>
    response.writeHead(code).end(typeof body === "string" ? body : JSON.stringify(body));

/** No secret is in anything that a log or a person would see of the error. */
function rejectsWith(work: Promise<unknown>, code: ErrorCode, message: RegExp): Promise<void> {
  return assert.rejects(work, (error) => {
    assert.ok(isLabError(error, code), String(error));
    assert.match(error.message, message);
    const seen = JSON.stringify([error, error.message, error.details, error.stack, String(error.cause)]);
    assert.ok(!seen.includes("s3cr3t"), seen);
    assert.equal(error.retryable, code === "REGISTRY_UNREACHABLE");
    return true;
  });
}

test("a schema is asked for once, whoever asks at the same time or later", async (t) => {
  const server = await stub(t, { "/schemas/ids/7": { schema: '"int"' } });
  const registry = createRegistry({ url: `${server.url}/` });
  const both = await Promise.all([registry.byId(7, signal), registry.byId(7, signal)]);
  const later = await registry.byId(7, signal);
  assert.deepEqual(later, { id: 7, type: "AVRO", text: '"int"', references: [] });
  assert.ok(both.every((schema) => schema === later));
  assert.deepEqual(server.paths(), ["/schemas/ids/7"]);
});

test("an unknown id is null, and asked for again after a while", async (t) => {
  const server = await stub(t);
  let now = 0;
  const registry = createRegistry({ url: server.url, unknownForMs: 1000, now: () => now });
  assert.equal(await registry.byId(1, signal), null);
  now = 999;
  assert.equal(await registry.byId(1, signal), null);
  assert.equal(server.asked.length, 1);
  now = 1000;
  server.routes["/schemas/ids/1"] = { schema: "{}", schemaType: "JSON" };
  assert.equal((await registry.byId(1, signal))?.type, "JSON");
});

test("references come along at any depth, a shared one asked for once", async (t) => {
  const link = (name: string, subject: string) => ({ name, subject, version: 2 });
  const server = await stub(t, {
    "/schemas/ids/1": {
      schema: "A",
      schemaType: "PROTOBUF",
      references: [link("b.proto", "B/b"), link("c.proto", "C")],
    },
    "/subjects/B%2Fb/versions/2": {
      id: 5,
      subject: "B/b",
      version: 2,
      schema: "B",
      references: [link("c.proto", "C")],
    },
    "/subjects/C/versions/2": { id: 6, subject: "C", version: 2, schema: "C" },
  });
  const c = { name: "c.proto", text: "C", references: [] };
  assert.deepEqual(await createRegistry({ url: server.url }).byId(1, signal), {
    id: 1,
    type: "PROTOBUF",
    text: "A",
    references: [{ name: "b.proto", text: "B", references: [c] }, c],
  });
  assert.equal(server.asked.length, 3);
});

test("a schema that refers to what is not there, or to itself, is unknown", async (t) => {
  const server = await stub(t, {
    "/schemas/ids/1": { schema: "A", references: [{ name: "x", subject: "X", version: 1 }] },
    "/schemas/ids/2": { schema: "A", references: [{ name: "y", subject: "Y", version: 1 }] },
    "/subjects/Y/versions/1": { schema: "Y", references: [{ name: "y", subject: "Y", version: 1 }] },
  });
  const registry = createRegistry({ url: server.url });
  assert.equal(await registry.byId(1, signal), null);
  assert.equal(await registry.byId(2, signal), null);
});

test("the newest version of a subject is asked for each time, and known by its id then", async (t) => {
  const server = await stub(t, {
    "/subjects/orders-value/versions/latest": { id: 3, version: 1, schema: '"int"' },
  });
  const registry = createRegistry({ url: server.url });
  assert.equal((await registry.latest("orders-value", signal)).id, 3);
  server.routes["/subjects/orders-value/versions/latest"] = { id: 4, version: 2, schema: '"long"' };
  assert.equal((await registry.latest("orders-value", signal)).text, '"long"');
  assert.equal((await registry.byId(3, signal))?.text, '"int"');
  assert.equal(server.asked.length, 2);
  await rejectsWith(registry.latest("none", signal), "SCHEMA_NOT_FOUND", /has no subject none$/);
});

test("credentials and headers are sent, and never said", async (t) => {
  const server = await stub(t, {
    "/schemas/ids/1": { schema: '"int"' },
    "/schemas/ids/2": status(401),
    "/schemas/ids/3": status(403),
  });
  const basic = `Basic ${Buffer.from(`me:${SECRET}`).toString("base64")}`;
  const inUrl = server.url.replace("://", `://me:${SECRET}@`);
  const cases: [RegistryOptions, expected: string][] = [
    [{ url: server.url, auth: { user: "me", password: SECRET } }, basic],
    [{ url: inUrl }, basic],
    [{ url: server.url, auth: { bearer: SECRET } }, `Bearer ${SECRET}`],
    [{ url: server.url, headers: { Authorization: `Key ${SECRET}` } }, `Key ${SECRET}`],
  ];
  for (const [options, expected] of cases) {
    const registry = createRegistry(options);
    await registry.byId(1, signal);
    assert.equal(server.asked.at(-1)?.headers.authorization, expected);
    assert.ok(!registry.url.includes("s3cr3t"));
    await rejectsWith(registry.byId(2, signal), "REGISTRY_DENIED", /refuses \/schemas\/ids\/2 with 401$/);
    await rejectsWith(registry.byId(3, signal), "REGISTRY_DENIED", /refuses \/schemas\/ids\/3 with 403$/);
  }
});

test("whatever is no answer of a registry is an outage: no message becomes bad by it", async (t) => {
  const server = await stub(t, {
    "/schemas/ids/1": status(500),
    "/schemas/ids/2": status(429),
    "/schemas/ids/3": status(404, "<html>not here</html>"),
    "/schemas/ids/4": status(404, { error_code: 404, message: "HTTP 404 Not Found" }),
    "/schemas/ids/5": status(200, "<html>sign in</html>"),
    "/schemas/ids/6": { schema: 5 },
    "/schemas/ids/7": { schema: "A", references: [{ name: "x" }] },
    "/schemas/ids/8": ((_, response) =>
      response.writeHead(302, { location: `http://user:${SECRET}@other/` }).end()) satisfies Answer,
    "/schemas/ids/9": ((request) => request.socket.destroy()) satisfies Answer,
    "/schemas/ids/10": (() => {}) satisfies Answer,
    "/schemas/ids/11": ((_, response) => response.write('{"schema":')) satisfies Answer,
  });
  const registry = createRegistry({ url: server.url, timeoutMs: 300, auth: { bearer: SECRET } });
  const said = [
    /answers 500/,
    /answers 429/,
    /answers 404/,
    /answers 404/,
    /no schema/,
    /no schema/,
    /no schema/,
    /redirects .* to http:\/\/other$/,
    /does not answer: (UND_ERR_SOCKET|ECONNRESET)/,
    /does not answer within 300 ms/,
    /does not answer within 300 ms/,
  ];
  await Promise.all(
    said.map((message, i) => rejectsWith(registry.byId(i + 1, signal), "REGISTRY_UNREACHABLE", message)),
  );
});

test("an outage is over as soon as the registry answers", async (t) => {
  const server = await stub(t, { "/schemas/ids/1": status(503) });
  const registry = createRegistry({ url: server.url });
  await rejectsWith(registry.byId(1, signal), "REGISTRY_UNREACHABLE", /answers 503/);
  server.routes["/schemas/ids/1"] = { schema: '"int"' };
  assert.equal((await registry.byId(1, signal))?.text, '"int"');
  await rejectsWith(
    createRegistry({ url: "http://127.0.0.1:1" }).byId(1, signal),
    "REGISTRY_UNREACHABLE",
    /does not answer: /,
  );
});

test("a signal ends the wait of its own caller only, and the request with the last of them", {
  timeout: 20_000,
}, async (t) => {
  let closed = () => {};
  const isClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const waiting: ServerResponse[] = [];
  const server = await stub(t, {
    "/schemas/ids/1": ((_, response) => {
      waiting.push(response);
      response.once("close", () => waiting.length > 1 && closed());
    }) satisfies Answer,
  });
  const registry = createRegistry({ url: server.url });
  const [one, two] = [new AbortController(), new AbortController()];
  const first = registry.byId(1, one.signal);
  const second = registry.byId(1, two.signal);
  while (waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  one.abort(new Error("enough"));
  await assert.rejects(first, /enough/);
  waiting[0]!.end('{"schema":"A"}');
  assert.equal((await second)?.text, "A");

  const server2 = createRegistry({ url: server.url });
  const three = new AbortController();
  const third = server2.byId(1, three.signal);
  while (waiting.length === 1) await new Promise((resolve) => setTimeout(resolve, 5));
  three.abort(new Error("all gone"));
  await assert.rejects(third, /all gone/);
  await isClosed;
});

test("an address or a header that cannot be used is refused at once, without saying it", () => {
  const refused = (options: RegistryOptions) =>
    assert.throws(
      () => createRegistry(options),
      (error) =>
        isLabError(error, "CONFIG_INVALID") &&
        !JSON.stringify([error, error.message, error.stack]).includes("s3cr3t"),
    );
  for (const url of [
    "",
    "registry:8081",
    "ftp://host/",
    `http://host/?key=${SECRET}`,
    `http://me:${SECRET}@`,
  ])
    refused({ url });
  refused({ url: "http://host", auth: { bearer: `${SECRET}\nx` } });
  refused({ url: "http://host", headers: { "x-key": `${SECRET}\u0100` } });
  refused({ url: "http://host", headers: { "bad name": SECRET } });
});
