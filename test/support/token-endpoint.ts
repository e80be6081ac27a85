/** An endpoint of OAuth 2.0's client credentials grant on loopback, whose tokens are unsecured: Kafka takes those for tests alone. */

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export type TokenEndpoint = {
  url: string;
  /** What was asked so far, decoded. */
  readonly requests: { clientId: string; clientSecret: string; form: Record<string, string> }[];
  /** Answers the next requests with this status and body instead of a token. */
  fail(status: number, body?: object): void;
  heal(): void;
  close(): Promise<void>;
};

/** Gives a token in the name of the client to whoever knows the secret. Whoever starts it closes it. */
export async function startTokenEndpoint(options: {
  clientSecret: string;
  lifeSeconds: number;
}): Promise<TokenEndpoint> {
  const requests: TokenEndpoint["requests"] = [];
  let failure: { status: number; body: object } | null = null;
  const server = createServer((request, response) => {
    void (async () => {
      let body = "";
      for await (const part of request.setEncoding("utf8")) body += part;
      const basic = (request.headers.authorization ?? "").replace(/^Basic /, "");
      const [clientId = "", clientSecret = ""] = Buffer.from(basic, "base64")
        .toString()
        .split(":")
        .map((part) => new URLSearchParams(`v=${part}`).get("v") ?? "");
      requests.push({ clientId, clientSecret, form: Object.fromEntries(new URLSearchParams(body)) });
      const isKnown = clientSecret === options.clientSecret;
      const refusal = failure ?? (isKnown ? null : { status: 401, body: { error: "invalid_client" } });
      const answer = refusal?.body ?? {
        access_token: unsecuredToken(clientId, options.lifeSeconds),
        token_type: "Bearer",
        expires_in: options.lifeSeconds,
      };
      response.writeHead(refusal?.status ?? 200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    requests,
    fail(status, body = {}) {
      failure = { status, body };
    },
    heal() {
      failure = null;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A JWT without a signature. */
export function unsecuredToken(subject: string, lifeSeconds: number): string {
  const now = Math.floor(Date.now() / 1000);
  const parts = [{ alg: "none" }, { sub: subject, iat: now - 1, exp: now + lifeSeconds }];
  return `${parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.`;
}
