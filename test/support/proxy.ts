/** A loopback proxy in front of an S3 server that loses requests and replies, and goes down or silent, when a test says so. */

import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

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
  /** It happens to no further request. */
  end(): void;
};

/** A request that is held back, and performed even though the client may be gone by then. */
export type Late = Loss & {
  /** Performs what is held; resolves with the status that the server answered to each. */
  release(): Promise<(number | undefined)[]>;
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
  /** Requests that match are answered with this error of S3's, and the server does not see them. */
  refuse(
    match: (request: SeenRequest) => boolean,
    answer: { status: number; code: string },
    times?: number,
  ): Loss;
  /** Requests that match wait so long before the server sees them. */
  delay(match: (request: SeenRequest) => boolean, ms: number, times?: number): Loss;
  /** The next `times` requests that match are read to their end and held: the client gets no answer, whatever becomes of it. */
  holdBack(match: (request: SeenRequest) => boolean, times?: number): Late;
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
  const losses: Rule[] = [];
  const held: (() => Promise<number | undefined>)[] = [];
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
    if (loss?.kind === "refuse") return refuse(request, response, loss.answer);
    if (loss?.kind === "delay") await sleep(loss.ms);
    if (loss?.kind === "late") {
      const body = await bodyOf(request);
      held.push(async () => {
        const answer = await forward(request, target, body);
        await once(answer.resume(), "end");
        return answer.statusCode;
      });
      return;
    }
    await frozen;
    const reply = await forward(request, target);
    if (loss?.kind === "half") {
      const whole = await bodyOf(reply);
      response.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
      return void response.write(whole.subarray(0, whole.length / 2), () => request.socket.destroy());
    }
    if (loss?.kind === "reply") {
      // The server has answered, so it has done what was asked.
      await once(reply.resume(), "end");
      return void request.socket.destroy();
    }
    response.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
    reply.on("error", () => request.socket.destroy()).pipe(response);
  }

  function add(fault: Fault, match: (request: SeenRequest) => boolean, times: number): Loss {
    const rule: Rule = { ...fault, match, left: times, hit: [] };
    losses.push(rule);
    return {
      hit: rule.hit,
      end() {
        rule.left = 0;
      },
    };
  }
  const lose =
    (kind: "reply" | "half" | "request") =>
    (match: (request: SeenRequest) => boolean, times = 1) =>
      add({ kind }, match, times);

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    requests,
    loseReply: lose("reply"),
    loseRequest: lose("request"),
    halveReply: lose("half"),
    refuse: (match, answer, times = 1) => add({ kind: "refuse", answer }, match, times),
    delay: (match, ms, times = 1) => add({ kind: "delay", ms }, match, times),
    holdBack: (match, times = 1) => ({
      ...add({ kind: "late" }, match, times),
      release: () => Promise.all(held.splice(0).map((perform) => perform())),
    }),
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

type Fault =
  | { kind: "reply" | "half" | "request" | "late" }
  | { kind: "refuse"; answer: { status: number; code: string } }
  | { kind: "delay"; ms: number };
type Rule = Fault & { match: (request: SeenRequest) => boolean; left: number; hit: SeenRequest[] };

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, code }: { status: number; code: string },
): Promise<void> {
  await bodyOf(request);
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>by the test</Message></Error>`;
  response.writeHead(status, { "content-type": "application/xml", "content-length": body.length });
  response.end(request.method === "HEAD" ? undefined : body);
}

/** Sends the request on with all its headers, Host among them: the client's signature covers it. */
function forward(request: IncomingMessage, target: URL, body?: Buffer): Promise<IncomingMessage> {
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
    if (body) return void onward.end(body);
    request.on("error", (error) => onward.destroy(error));
    request.pipe(onward);
  });
}
