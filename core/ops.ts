/** The loopback server of every long-running part: /healthz, /readyz, /state, /metrics, and where it may be told to, POST /do/NAME. */

import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import { asLabError, LabError } from "./errors.ts";

export type OpsSource = {
  /** Alive and not stuck: false makes /healthz answer 503. */
  isHealthy(): boolean;
  /** Able to do its work now: false makes /readyz answer 503. */
  isReady(): boolean;
  /** The JSON document of /state; bigints are written as strings. */
  state(): unknown;
  registry: Registry;
  /** What it can be told to do, by whom has the token in the header `x-lab-token`. Absent: nothing. */
  orders?: Orders;
};

export type Orders = {
  token: string;
  /** What it throws is answered as `{code, message, hint}`. */
  perform(name: string, body: unknown, signal: AbortSignal): Promise<unknown>;
};

const MAX_BODY_BYTES = 64 * 1024;

export type OpsServer = { port: number; close(): Promise<void> };

/** Listens on 127.0.0.1 (or `host`); port 0 takes a free one. PORT_TAKEN if the port is in use. */
export async function serveOps(source: OpsSource, port: number, host = "127.0.0.1"): Promise<OpsServer> {
  const server = createServer((request, response) => {
    const reply = (status: number, type: string, body: string) => {
      response.writeHead(status, { "content-type": type, "cache-control": "no-store" });
      response.end(body);
    };
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    const { orders } = source;
    if (request.method === "POST" && path.startsWith("/do/") && orders !== undefined) {
      if (!isToken(request.headers["x-lab-token"], orders.token))
        return reply(
          403,
          "application/json",
          toJson({ code: "REQUEST_REFUSED", message: "the token is wrong" }),
        );
      const gone = new AbortController();
      response.on("close", () => gone.abort(new Error("who asked went away")));
      readJson(request)
        .then((body) => orders.perform(path.slice("/do/".length), body, gone.signal))
        .then(
          (done) => reply(200, "application/json", toJson(done ?? null)),
          (error: unknown) => reply(400, "application/json", toJson(asLabError(error).toJSON())),
        );
      return;
    }
    if (path === "/healthz")
      return reply(source.isHealthy() ? 200 : 503, "text/plain", source.isHealthy() ? "ok\n" : "stuck\n");
    if (path === "/readyz")
      return reply(source.isReady() ? 200 : 503, "text/plain", source.isReady() ? "ready\n" : "not ready\n");
    if (path === "/state") return reply(200, "application/json", toJson(source.state()));
    if (path === "/metrics") {
      source.registry.metrics().then(
        (text) => reply(200, source.registry.contentType, text),
        (error: unknown) => reply(500, "text/plain", `${error}\n`),
      );
      return;
    }
    reply(404, "text/plain", "not found: /healthz /readyz /state /metrics\n");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new LabError("PORT_TAKEN", `port ${port} is in use`, {
              hint: "give another with --ops-port",
              cause: error,
            })
          : error,
      ),
    );
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** JSON with bigints as strings, as everywhere in the lab's JSON (contracts.md). */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, (_, item) => (typeof item === "bigint" ? item.toString() : item), indent);
}

const digest = (text: string) => createHash("sha256").update(text).digest();

function isToken(given: string | string[] | undefined, expected: string): boolean {
  return typeof given === "string" && timingSafeEqual(digest(given), digest(expected));
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_BODY_BYTES) throw new LabError("REQUEST_INVALID", "the body is larger than 64 KiB");
    chunks.push(chunk as Buffer);
  }
  if (size === 0) return {};
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch (error) {
    throw new LabError("REQUEST_INVALID", "the body is not valid JSON", { cause: error });
  }
}
