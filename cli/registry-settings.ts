/** Settings of commands that ask a schema registry. */

import { LabError } from "../core/errors.ts";
import { named } from "../core/setting-kinds.ts";
import { type Setting, setting, type Values } from "../core/settings.ts";
import { readSecret } from "./secret.ts";

const one = (name: string, placeholder: string, yaml: string, description: string, isSecret = false) =>
  setting<string | undefined>({
    flag: `--registry-${name}`,
    env: `SCHEMA_REGISTRY_${name.toUpperCase()}`,
    kind: named(isSecret ? "env:NAME|file:PATH" : placeholder),
    default: undefined,
    yaml: `kafka.registry.${yaml}`,
    description,
    isSecret,
  } as Setting<string | undefined>);

export const REGISTRY = {
  registryUrl: one("url", "url", "url", "the schema registry, with the path of its API if it has one"),
  registryUsername: one("username", "name", "username", "user of the registry"),
  registryPassword: one("password", "", "password", "where that user's password is", true),
  registryToken: one("token", "", "token", "where the bearer token is, instead of user and password", true),
} as const;

/** As `createRegistry` takes it. */
export type RegistryAccess = {
  url: string;
  auth?: { user: string; password: string } | { bearer: string };
};

/** Undefined where no registry is named; secrets are read now. CONFIG_INVALID. */
export function registryAccess(
  values: Values<typeof REGISTRY>,
  env: NodeJS.ProcessEnv,
): RegistryAccess | undefined {
  const {
    registryUrl: url,
    registryUsername: user,
    registryPassword: password,
    registryToken: token,
  } = values;
  const given = user ?? password ?? token;
  if (url === undefined && given === undefined) return undefined;
  const wrong = (why: string, hint: string) => new LabError("CONFIG_INVALID", why, { hint });
  if (url === undefined)
    throw wrong(
      "credentials of a schema registry are given, and no kafka.registry.url",
      "set it, or leave them out",
    );
  if (token !== undefined && user !== undefined)
    throw wrong("kafka.registry has a token and a user", "leave one of them out");
  if (token !== undefined) return { url, auth: { bearer: readSecret(token, "kafka.registry.token", env) } };
  if ((user === undefined) !== (password === undefined))
    throw wrong("of kafka.registry.username and .password only one is given", "give both, or a token");
  if (user === undefined || password === undefined) return { url };
  return { url, auth: { user, password: readSecret(password, "kafka.registry.password", env) } };
}
