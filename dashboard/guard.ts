/** Who may talk to the dashboard: checks of host, origin, body type and token, and the headers that bind the page. */

import { createHash, timingSafeEqual } from "node:crypto";
import type { NextFunction, Request, Response } from "express";
import { LabError } from "../core/errors.ts";

/** The page loads only what this server serves, runs no inline script or style, and makes no markup from text. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Headers of every reply, errors too. */
export function bindPage(_: Request, response: Response, next: NextFunction): void {
  response.set({
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  });
  next();
}

/**
 * Refuses requests that name another host (a page of another site whose name was rebound to this address) or
 * come from another origin. An allowed host without a port allows every port.
 */
export function checkHost(allowedHosts: readonly string[]) {
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()));
  const isAllowed = (host: string) => allowed.has(host) || allowed.has(host.replace(/:\d+$/, ""));
  return (request: Request, _: Response, next: NextFunction): void => {
    const host = (request.headers.host ?? "").toLowerCase();
    if (!isAllowed(host))
      throw refused(`the host ${JSON.stringify(host)} is not allowed`, "add it with --allowed-hosts");
    const { origin } = request.headers;
    if (origin !== undefined && hostOf(origin) !== host)
      throw refused(`a page of ${JSON.stringify(origin)} may not use this server`, "open the page from here");
    next();
  };
}

function hostOf(origin: string): string | null {
  try {
    return new URL(origin).host.toLowerCase();
  } catch {
    return null;
  }
}

/** A POST must be JSON from the page itself, and carry the token of this start unless its path needs none. */
export function checkPost(token: string, withoutToken: readonly string[]) {
  const expected = digest(token);
  return (request: Request, _: Response, next: NextFunction): void => {
    if (request.method === "GET" || request.method === "HEAD") {
      next();
      return;
    }
    if (request.method !== "POST")
      throw new LabError("REQUEST_INVALID", `${request.method} is not a method of this server`, {
        hint: "use GET or POST",
        details: { status: 405 },
      });
    const site = request.headers["sec-fetch-site"];
    if (site !== undefined && site !== "same-origin")
      throw refused(`a ${site} request may not change anything`, "use the page itself");
    if (!request.is("application/json"))
      throw new LabError("REQUEST_INVALID", "the body is not application/json", {
        hint: "send content-type: application/json",
        details: { status: 415 },
      });
    const needsToken = !withoutToken.includes(request.path);
    if (needsToken && !timingSafeEqual(digest(request.get("x-lab-token") ?? ""), expected))
      throw refused("the token is missing or of another start", "open the link that lab up prints");
    next();
  };
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

const refused = (message: string, hint: string): LabError =>
  new LabError("REQUEST_REFUSED", message, { hint });
