/** Secrets and files that settings name: read once, at the start. */

import { readFileSync } from "node:fs";
import { LabError } from "../core/errors.ts";

/**
 * The secret that `value` is or names: `env:NAME`, `file:/path` (a newline at its end is no part of it), or the secret itself.
 * CONFIG_INVALID names setting, variable and file, never a value.
 */
export function readSecret(value: string, where: string, env: NodeJS.ProcessEnv): string {
  const [, kind, name = ""] = /^(env|file):(.+)$/s.exec(value) ?? [];
  if (kind === "env") return variable(name, where, env);
  if (kind === "file") return readNamed(name, where).replace(/\r?\n$/, "");
  return value;
}

/** The text that `value` names: a path, or `env:NAME` or `file:/path`. CONFIG_INVALID. */
export function readText(value: string, where: string, env: NodeJS.ProcessEnv): string {
  return /^(env|file):./s.test(value) ? readSecret(value, where, env) : readNamed(value, where);
}

function variable(name: string, where: string, env: NodeJS.ProcessEnv): string {
  const found = env[name];
  if (found !== undefined && found !== "") return found;
  throw new LabError("CONFIG_INVALID", `${where}: the variable ${name} is not set`, {
    hint: `set ${name}, or name another with env:`,
  });
}

function readNamed(file: string, where: string): string {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new LabError("CONFIG_INVALID", `${where}: ${file} cannot be read (${code ?? "unknown failure"})`, {
      hint: "check the path, which counts from the working directory, and who may read it",
    });
  }
  if (text.trim() !== "") return text;
  throw new LabError("CONFIG_INVALID", `${where}: ${file} is empty`, {
    hint: "write the secret or certificate into it",
  });
}
