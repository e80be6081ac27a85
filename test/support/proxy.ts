/** A loopback proxy in front of an S3 server that loses requests and replies, and goes down or silent, when a test says so. */

import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type SeenRequest = {
  method: string;
  /** Path as on the wire, with its query. */
  url: string;
  /** Carries `If-None-Match`: creates only what is not there. */
  isConditional: boolean;
};

export type Loss = {
  /** The requests it happened to: a test asserts that it did. */
  readonly hit: SeenRequest[];
};

export type S3Proxy = {
  /** For clients: they sign for this address, and the server sees it as the Host they signed. */
  endpoint: string;
  /** All requests, in the order in which they came. */
  readonly requests: SeenRequest[];
  /** The next `times` requests that match are performed by the server, and their replies cut. */
  loseReply(match: (request: SeenRequest) => boolean, times?: number): Loss;
  /** The next `times` requests that match are cut before the server sees them. */
  loseRequest(match: (request: SeenRequest) => boolean, times?: number): Loss;
  /** The next `times` requests that match get the head and half of the body of their reply, then the cut. */
  halveReply(match: (request: SeenRequest) => boolean, times?: number): Loss;
  /** Cuts all connections and every new one at once, until `restore`. */
  cut(): void;
  /** Takes connections and requests and answers none of them, until `restore`: then they go on. */
  freeze(): void;
  restore(): void;
  close(): Promise<void>;
};

/** True for the put that creates a version of a Delta table. */
export const isCommit = ({ method, url, isConditional }: SeenRequest): boolean =>
  method === "PUT" && isConditional && /\/_delta_log\/\d{20}\.json(\?|$)/.test(url);

/** Forwards to `upstream`, the server's endpoint. Whoever starts it closes it. */
export async function startS3Proxy(upstream: string): Promise<S3Proxy> {
  const target = new URL(upstream);
  const requests: SeenRequest[] = [];
  const losses: {
    kind: "reply" | "half" | "request";
    match: (request: SeenRequest) => boolean;
    left: number;
    hit: SeenRequest[];
  }[] = [];
  let state: "open" | "cut" | "frozen" = "open";
  let thaw: () => void = () => {};
  let frozen: Promise<void> = Promise.resolve();

  const server = createServer((request, response) => {
    void handle(request, response).catch(() => request.socket.destroy());
  });
  server.on("connection", (socket) => {
    if (state === "cut") socket.destroy();
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen: SeenRequest = {
      method: request.method ?? "",
      url: request.url ?? "",
      isConditional: request.headers["if-none-match"] !== undefined,
    };
    requests.push(seen);
    const loss = losses.find(({ left, match }) => left > 0 && match(seen));
    if (loss) {
      loss.left--;
      loss.hit.push(seen);
    }
    if (loss?.kind === "request") return void request.socket.destroy();
    await frozen;
    const reply = await forward(request, target);
    if (loss?.kind === "half") {
      const chunks: Buffer[] = [];
      for await (const chunk of reply) chunks.push(chunk as Buffer);
      const whole = Buffer.concat(chunks);
      response.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
      return void response.write(whole.subarray(0, whole.length / 2), () => request.socket.destroy());
    }
    if (loss) {
      // The server has answered, so it has done what was asked.
      await once(reply.resume(), "end");
      return void request.socket.destroy();
    }
    response.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
    reply.on("error", () => request.socket.destroy()).pipe(response);
  }

  const lose =
    (kind: "reply" | "half" | "request") =>
    (match: (request: SeenRequest) => boolean, times = 1) => {
      const loss = { kind, match, left: times, hit: [] };
      losses.push(loss);
      return loss;
    };

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    requests,
    loseReply: lose("reply"),
    loseRequest: lose("request"),
    halveReply: lose("half"),
    cut() {
      state = "cut";
      server.closeAllConnections();
    },
    freeze() {
      state = "frozen";
      frozen = new Promise((resolve) => {
        thaw = resolve;
      });
    },
    restore() {
      state = "open";
      thaw();
    },
    async close() {
      thaw();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Sends the request on with all its headers, Host among them: the client's signature covers it. */
function forward(request: IncomingMessage, target: URL): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { method, url: path, headers } = request;
    const options = {
      host: target.hostname,
      port: target.port,
      method,
      path,
      headers,
      agent: false as const,
    };
    const onward = httpRequest(options, resolve);
    onward.on("error", reject);
    request.on("error", (error) => onward.destroy(error));
    request.pipe(onward);
  });
}
