/**
 * A client of schema registries that speak the HTTP API of Confluent's (Karapace, Apicurio's ccompat, Redpanda, ...): schemas by the id
 * that messages carry, each asked for once.
 */

import { LabError } from "../core/errors.ts";
import { createFlights } from "./registry-flight.ts";
import { createRegistryHttp, type RegistryAuth } from "./registry-http.ts";

/** Another schema that one refers to, by the name it uses for it: an Avro type, a Protobuf import path, a JSON Schema `$ref`. */
export type SchemaReference = {
  name: string;
  text: string;
  references: readonly SchemaReference[];
};

export type RegisteredSchema = {
  id: number;
  /** AVRO, PROTOBUF or JSON; a plugin of the registry may name others. */
  type: string;
  text: string;
  references: readonly SchemaReference[];
};

export type RegistryOptions = {
  /** Of the API's root, with its path if it has one (`http://host:8080/apis/ccompat/v7`). A user and password in it count as basic. */
  url: string;
  auth?: RegistryAuth;
  /** Sent with each request, for gateways; their values are secrets. */
  headers?: Readonly<Record<string, string>>;
  /** Most time that one answer may take. */
  timeoutMs?: number;
  /** How long an id that the registry does not know is taken as unknown without asking again. */
  unknownForMs?: number;
  /** In ms; whatever it starts from. */
  now?: () => number;
};

export type Registry = {
  /** The API's root as messages may show it: without secrets. */
  readonly url: string;
  /**
   * The schema, or null where the registry does not know the id, or a schema that it refers to. Rejects with REGISTRY_UNREACHABLE for an
   * outage, REGISTRY_DENIED for missing rights.
   */
  byId(id: number, signal: AbortSignal): Promise<RegisteredSchema | null>;
  /** The newest version of a subject; asks each time. SCHEMA_NOT_FOUND where there is none, otherwise as `byId`. */
  latest(subject: string, signal: AbortSignal): Promise<RegisteredSchema>;
};

/** A registry refuses references in circles; this bounds what another server may answer. */
const MOST_REFERENCE_LEVELS = 64;
/** Ids of broken messages may be any number. */
const MOST_UNKNOWN = 100_000;

/** CONFIG_INVALID where the address or a header cannot be used. Nothing is asked before the first call. */
export function createRegistry(options: RegistryOptions): Registry {
  const { unknownForMs = 10_000, now = () => performance.now() } = options;
  const http = createRegistryHttp(options);
  const known = new Map<number, RegisteredSchema>();
  const unknownUntil = new Map<number, number>();
  const versions = new Map<string, Omit<SchemaReference, "name">>();
  const idFlights = createFlights<number, RegisteredSchema | null>();
  const subjectFlights = createFlights<string, RegisteredSchema>();

  async function fetchById(id: number, signal: AbortSignal): Promise<RegisteredSchema | null> {
    const answer = await http.get(["schemas", "ids", String(id)], signal);
    const references = answer && (await resolve(answer.references, 1, signal));
    if (!answer || !references) {
      if (unknownUntil.size >= MOST_UNKNOWN) unknownUntil.clear();
      unknownUntil.set(id, now() + unknownForMs);
      return null;
    }
    return keep({ id, type: answer.type, text: answer.text, references });
  }

  async function fetchLatest(subject: string, signal: AbortSignal): Promise<RegisteredSchema> {
    const answer = await http.get(["subjects", subject, "versions", "latest"], signal);
    const references = answer && (await resolve(answer.references, 1, signal));
    if (answer && references && answer.id !== null)
      return keep({ id: answer.id, type: answer.type, text: answer.text, references });
    throw new LabError(
      "SCHEMA_NOT_FOUND",
      answer
        ? `the schema registry at ${http.url} lacks a schema that the subject ${subject} refers to`
        : `the schema registry at ${http.url} has no subject ${subject}`,
      { hint: "check the subject's name, or register its schema", details: { subject } },
    );
  }

  /** Null where one of them, or one of theirs, is not there. */
  async function resolve(
    links: readonly { name: string; subject: string; version: number }[],
    level: number,
    signal: AbortSignal,
  ): Promise<SchemaReference[] | null> {
    if (level > MOST_REFERENCE_LEVELS) return null;
    const references: SchemaReference[] = [];
    for (const { name, subject, version } of links) {
      const key = JSON.stringify([subject, version]);
      let target = versions.get(key);
      if (target === undefined) {
        const answer = await http.get(["subjects", subject, "versions", String(version)], signal);
        const theirs = answer && (await resolve(answer.references, level + 1, signal));
        if (!answer || !theirs) return null;
        target = { text: answer.text, references: theirs };
        versions.set(key, target);
      }
      references.push({ name, ...target });
    }
    return references;
  }

  function keep(schema: RegisteredSchema): RegisteredSchema {
    unknownUntil.delete(schema.id);
    known.set(schema.id, schema);
    return schema;
  }

  return {
    url: http.url,
    async byId(id, signal) {
      signal.throwIfAborted();
      const schema = known.get(id);
      if (schema) return schema;
      if (now() < (unknownUntil.get(id) ?? -Infinity)) return null;
      return idFlights.join(id, (shared) => fetchById(id, shared), signal);
    },
    latest: (subject, signal) =>
      subjectFlights.join(subject, (shared) => fetchLatest(subject, shared), signal),
  };
}
