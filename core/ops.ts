/** The loopback server of every long-running part: /healthz, /readyz, /state, /metrics. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Registry } from "prom-client";
import { LabError } from "./errors.ts";

export type OpsSource = {
  /** Alive and not stuck: false makes /healthz answer 503. */
  isHealthy(): boolean;
  /** Able to do its work now: false makes /readyz answer 503. */
  isReady(): boolean;
  /** The JSON document of /state; bigints are written as strings. */
  state(): unknown;
  registry: Registry;
};

export type OpsServer = { port: number; close(): Promise<void> };

/** Listens on 127.0.0.1 (or `host`); port 0 takes a free one. PORT_TAKEN if the port is in use. */
export async function serveOps(source: OpsSource, port: number, host = "127.0.0.1"): Promise<OpsServer> {
  const server = createServer((request, response) => {
    const reply = (status: number, type: string, body: string) => {
      response.writeHead(status, { "content-type": type, "cache-control": "no-store" });
      response.end(body);
    };
    const path = (request.url ?? "/").split("?")[0];
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
