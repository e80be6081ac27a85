/** The HTTP side of a schema registry: one request, its answer checked, its failures told apart. No header's value is ever in a message. */

import { LabError } from "../core/errors.ts";

export type RegistryAuth = { user: string; password: string } | { bearer: string };

/** What the API says of a schema; `id` is null where the path does not tell it. */
export type SchemaAnswer = {
  id: number | null;
  type: string;
  text: string;
  references: readonly { name: string; subject: string; version: number }[];
};

export type RegistryHttp = {
  /** Without secrets. */
  readonly url: string;
  /** The schema at a path; null where the registry says that it does not have it. Rejects with REGISTRY_UNREACHABLE or REGISTRY_DENIED. */
  get(path: readonly string[], signal: AbortSignal): Promise<SchemaAnswer | null>;
};

type HttpOptions = {
  url: string;
  auth?: RegistryAuth;
  headers?: Readonly<Record<string, string>>;
  timeoutMs?: number;
};

const ACCEPT = "application/vnd.schemaregistry.v1+json, application/json";
/** Subject, version or schema not found. A 404 without such a code comes from something that is not the registry. */
const NOT_FOUND_CODES = [40401, 40402, 40403];
const DEFAULT_TYPE = "AVRO";

export function createRegistryHttp(options: HttpOptions): RegistryHttp {
  const { timeoutMs = 10_000 } = options;
  const { root, credentials } = parseUrl(options.url);
  const headers = requestHeaders({ ...options, auth: options.auth ?? credentials });

  async function request(
    path: string,
    signal: AbortSignal,
  ): Promise<{ status: number; location: string | null; text: string }> {
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      // Redirects are not followed: headers that hold secrets would go along.
      const response = await fetch(`${root}${path}`, {
        headers,
        redirect: "manual",
        signal: AbortSignal.any([signal, timeout]),
      });
      return {
        status: response.status,
        location: response.headers.get("location"),
        text: await response.text(),
      };
    } catch (error) {
      signal.throwIfAborted();
      throw unreachable(timeout.aborted ? `does not answer within ${timeoutMs} ms` : networkReason(error), {
        cause: error,
      });
    }
  }

  function unreachable(what: string, rest: { hint?: string; cause?: unknown } = {}): LabError {
    return new LabError("REGISTRY_UNREACHABLE", `the schema registry at ${root} ${what}`, {
      hint: "check the address of the registry, and whether it is up",
      ...rest,
    });
  }

  return {
    url: root,
    async get(segments, signal) {
      const path = `/${segments.map(encodeURIComponent).join("/")}`;
      const { status, location, text } = await request(path, signal);
      const body = asJson(text);
      if (status === 401 || status === 403)
        throw new LabError(
          "REGISTRY_DENIED",
          `the schema registry at ${root} refuses ${path} with ${status}`,
          {
            hint:
              status === 401
                ? "check the user and password, or the token"
                : "grant the right to read schemas",
            details: { status, path },
          },
        );
      if (status === 404 && NOT_FOUND_CODES.includes(Number(field(body, "error_code")))) return null;
      if (status >= 300 && status < 400)
        throw unreachable(`redirects ${path} to ${origin(location, root)}`, {
          hint: "give the address that it redirects to",
        });
      if (status !== 200) throw unreachable(`answers ${status} to ${path}`);
      const answer = asSchema(body);
      if (answer === null) throw unreachable(`answers ${path} with something that is no schema`);
      return answer;
    },
  };
}

function parseUrl(text: string): { root: string; credentials: RegistryAuth | undefined } {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "")
    throw new LabError("CONFIG_INVALID", "the address of the schema registry is no http or https URL", {
      hint: "write it as http://HOST:PORT, with the path of the API if it has one, and without a query",
    });
  const credentials =
    url.username === "" && url.password === ""
      ? undefined
      : { user: unquoted(url.username), password: unquoted(url.password) };
  return { root: `${url.origin}${url.pathname.replace(/\/+$/, "")}`, credentials };
}

/** A password may hold a percent sign that nobody escaped. */
function unquoted(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function requestHeaders(options: {
  auth: RegistryAuth | undefined;
  headers?: Readonly<Record<string, string>>;
}): Headers {
  const headers = new Headers({ accept: ACCEPT });
  const { auth } = options;
  const set = (name: string, value: string) => {
    try {
      headers.set(name, value);
    } catch {
      // Without the cause, which quotes the value.
      throw new LabError(
        "CONFIG_INVALID",
        `the header ${JSON.stringify(name)} for the schema registry cannot be sent`,
        {
          hint: "check its name, and its value for line breaks and characters beyond Latin-1",
        },
      );
    }
  };
  if (auth && "bearer" in auth) set("authorization", `Bearer ${auth.bearer}`);
  else if (auth)
    set("authorization", `Basic ${Buffer.from(`${auth.user}:${auth.password}`).toString("base64")}`);
  for (const [name, value] of Object.entries(options.headers ?? {})) set(name, value);
  return headers;
}

function networkReason(error: unknown): string {
  const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
  const reason = cause?.code ?? cause?.message ?? (error as Error).message;
  return `does not answer: ${String(reason)}`;
}

function origin(location: string | null, root: string): string {
  return location !== null && URL.canParse(location, root) ? new URL(location, root).origin : "nowhere";
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function asSchema(body: unknown): SchemaAnswer | null {
  const text = field(body, "schema");
  const id = field(body, "id");
  const type = field(body, "schemaType");
  const links = field(body, "references") ?? [];
  if (typeof text !== "string" || !Array.isArray(links)) return null;
  const references = links.map((link) => ({
    name: field(link, "name"),
    subject: field(link, "subject"),
    version: field(link, "version"),
  }));
  const isComplete = references.every(
    ({ name, subject, version }) =>
      typeof name === "string" && typeof subject === "string" && Number.isInteger(version),
  );
  if (!isComplete) return null;
  return {
    id: Number.isInteger(id) ? (id as number) : null,
    type: typeof type === "string" && type !== "" ? type : DEFAULT_TYPE,
    text,
    references: references as SchemaAnswer["references"],
  };
}
