/** Tokens for SASL OAUTHBEARER: kept until shortly before they expire, one request at a time. */

import { LabError } from "../core/errors.ts";
import type { TokenSource } from "./ports.ts";

export type Token = { value: string; expiresMs: number };

/** A token is renewed this long before its end, or after three quarters of its life if that is sooner. */
const EARLY_MS = 60_000;
const ANSWER_MS = 10_000;

/** Asks `fetchToken` when there is no token that will still be good in a while. A failure is not kept. */
export function keptToken(fetchToken: () => Promise<Token>, now: () => number = Date.now): TokenSource {
  let current: { value: string; renewMs: number } | null = null;
  let asking: Promise<string> | null = null;

  async function ask(): Promise<string> {
    const askedMs = now();
    const { value, expiresMs } = await fetchToken();
    const lifeMs = expiresMs - askedMs;
    current = { value, renewMs: askedMs + Math.max(lifeMs - EARLY_MS, lifeMs * 0.75) };
    return value;
  }

  return () => {
    if (current !== null && now() < current.renewMs) return Promise.resolve(current.value);
    asking ??= ask().finally(() => {
      asking = null;
    });
    return asking;
  };
}

export type ClientCredentials = {
  /** The URL of the endpoint; https, or http on loopback. */
  tokenEndpoint: string;
  clientId: string;
  /** Secret. */
  clientSecret: string;
  scope?: string | undefined;
};

/**
 * OAuth 2.0's client credentials grant (RFC 6749, 4.4), the client named in the Authorization header. TOKEN_UNREACHABLE, which may be
 * tried again, where nothing or a 5xx answers; KAFKA_DENIED where the client is refused.
 */
export function clientCredentials(client: ClientCredentials, now: () => number = Date.now): TokenSource {
  return keptToken(() => requestToken(client, now), now);
}

async function requestToken(client: ClientCredentials, now: () => number): Promise<Token> {
  const { tokenEndpoint, clientId, clientSecret, scope } = client;
  const basic = Buffer.from(`${form(clientId)}:${form(clientSecret)}`).toString("base64");
  const body = new URLSearchParams({ grant_type: "client_credentials" });
  if (scope !== undefined) body.set("scope", scope);
  const askedMs = now();
  let response: Response;
  let text: string;
  try {
    response = await fetch(tokenEndpoint, {
      method: "POST",
      headers: { authorization: `Basic ${basic}`, accept: "application/json" },
      body,
      // Followed, it would carry the secret to whoever it names.
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    text = await response.text();
  } catch (cause) {
    throw tokenUnreachable(tokenEndpoint, reasonOf(cause), cause);
  }
  if (response.status >= 500 || response.status === 429)
    throw tokenUnreachable(tokenEndpoint, `it answers ${response.status}`);
  const answer = parsed(text);
  if (!response.ok) {
    const why = typeof answer.error === "string" ? answer.error : `status ${response.status}`;
    throw new LabError("KAFKA_DENIED", `${tokenEndpoint} gives client ${clientId} no token: ${why}`, {
      hint: "check kafka.sasl: tokenEndpoint, clientId, clientSecret and scope",
    });
  }
  if (typeof answer.access_token !== "string" || answer.access_token === "")
    throw new LabError("KAFKA_DENIED", `${tokenEndpoint} answers without an access_token`, {
      hint: "check kafka.sasl.tokenEndpoint: it must be the endpoint for tokens, not the issuer's page",
    });
  const seconds = Number(answer.expires_in ?? 300);
  return { value: answer.access_token, expiresMs: askedMs + (seconds > 0 ? seconds : 300) * 1000 };
}

/** RFC 6749, 2.3.1: both parts are form-encoded before they are joined. */
function form(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function tokenUnreachable(endpoint: string, reason: string, cause?: unknown): LabError {
  return new LabError("TOKEN_UNREACHABLE", `no token for Kafka from ${endpoint}: ${reason}`, {
    hint: "check kafka.sasl.tokenEndpoint and that it runs",
    cause,
  });
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string; code?: string } };
  return cause?.code ?? cause?.message ?? message ?? "no answer";
}
