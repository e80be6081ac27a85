/**
 * Settings: each is declared once and gives flag, environment variable, help and the README's table. Nothing else in the lab reads
 * the environment for a setting.
 */

import { LabError } from "./errors.ts";
import { type Kind, named, text, toggle } from "./setting-kinds.ts";

export type Setting<T = unknown> = {
  /** `--connect-timeout`. */
  flag: string;
  /** One letter, for the few that deserve it: `-v`. */
  short?: string;
  env: string;
  kind: Kind<NonNullable<T>>;
  default: T;
  /** What help says instead of the default, where that is decided at run time. */
  defaultText?: string;
  description: string;
  /** A secret, or where it is: `env:NAME` or `file:/path`. A flag may only say where; no error shows what was given. */
  isSecret?: boolean;
  /** Where lab.yaml has it, as a path: `kafka.brokers`. */
  yaml?: string;
  /** Where an entry of lab.yaml's `streams` has it: `flush.latency`. For the documentation: whoever makes streams of the entries reads it. */
  streamKey?: string;
};

export type SettingTable = Readonly<Record<string, Setting>>;
export type Values<S extends SettingTable> = {
  readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never;
};

type Declared<T> = Omit<Setting<T>, "env"> & { env?: string };

/** Declares a setting; without `env` its variable is LAB_ and the flag in capitals. */
export function setting<T>(declared: Declared<T>): Setting<T> {
  const env = declared.env ?? `LAB_${declared.flag.slice(2).replaceAll("-", "_").toUpperCase()}`;
  return { ...declared, env };
}

export type Sources = {
  /** What the command line gave, by the setting's flag. */
  flags: Readonly<Record<string, string | readonly string[] | undefined>>;
  env: Readonly<Record<string, string | undefined>>;
  /** lab.yaml's text at a path, as it would stand in a flag. */
  file?: (path: string) => string | undefined;
};

/**
 * The value of each setting: flag over environment over lab.yaml over default. An empty variable counts as not set. USAGE or
 * CONFIG_INVALID, naming where the value stood, what it is and what is allowed.
 */
export function readSettings<S extends SettingTable>(table: S, sources: Sources): Values<S> {
  const values = Object.entries(table).map(([name, one]) => [name, readSetting(one, sources)]);
  return Object.fromEntries(values) as Values<S>;
}

function readSetting(one: Setting, { flags, env, file }: Sources): unknown {
  const candidates = [
    { code: "USAGE", where: one.flag, value: flags[one.flag] },
    { code: "CONFIG_INVALID", where: one.env, value: env[one.env] || undefined },
    { code: "CONFIG_INVALID", where: `lab.yaml: ${one.yaml}`, value: one.yaml && file?.(one.yaml) },
  ] as const;
  const found = candidates.find(({ value }) => value !== undefined);
  if (found?.value === undefined) return one.default;
  if (one.isSecret && found.where === one.flag && !isReference(String(found.value)))
    throw new LabError("USAGE", `${one.flag} does not take a secret itself: others could read it`, {
      hint: `write ${one.flag} env:NAME or ${one.flag} file:/path, or set ${one.env}`,
    });
  try {
    if (typeof found.value === "string") return one.kind.parse(found.value);
    return found.value.flatMap((value) => one.kind.parse(value));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const given = one.isSecret ? "the value" : JSON.stringify(found.value);
    throw new LabError(found.code, `${found.where}: ${given} ${why}`, {
      hint: `${one.flag} is: ${one.description}`,
      cause: error,
    });
  }
}

/** True for `env:NAME` and `file:/path`, which say where a value is. */
export function isReference(value: string): boolean {
  return /^(env|file):./s.test(value);
}

/** `--for <duration>`, as help and the README show it. */
export function usageOf(one: Setting): string {
  return one.kind.placeholder === "" ? one.flag : `${one.flag} <${one.kind.placeholder}>`;
}

/** The default as help shows it; empty where there is none. */
export function defaultOf(one: Setting): string {
  if (one.defaultText !== undefined) return one.defaultText;
  if (one.default === undefined || one.default === false) return "";
  return one.kind.show(one.default as NonNullable<unknown>);
}

/** Settings that several commands take. */
export const SETTINGS = {
  data: setting<string>({
    flag: "--data",
    kind: named("folder"),
    default: "./lab-data",
    description: "folder of the lab's own files: broker data, logs, run files",
  }),
  store: setting<string>({
    flag: "--store",
    kind: named("uri"),
    default: "./lab-data/tables",
    yaml: "store",
    description: "where the tables are: a folder, or s3://BUCKET/PREFIX",
  }),
  kafka: setting<string>({
    flag: "--kafka",
    env: "KAFKA_BROKERS",
    kind: named("auto|docker|jvm|HOST:PORT", ["auto", "docker", "jvm"]),
    default: "auto",
    yaml: "kafka.brokers",
    description: "the broker: an address, or how to start one; auto takes what is there",
  }),
  app: setting<string>({
    flag: "--app",
    kind: text,
    default: "lab",
    yaml: "app",
    description: "prefix of the txn ids that hold the offsets in a table",
  }),
  config: setting<string>({
    flag: "--config",
    kind: named("file"),
    default: "./lab.yaml",
    description: "the file with streams and settings; it need not exist",
  }),
  json: setting<boolean>({
    flag: "--json",
    kind: toggle,
    default: false,
    description: "print one JSON document; errors too",
  }),
  verbose: setting<boolean>({
    flag: "--verbose",
    kind: toggle,
    default: false,
    description: "more log lines, and the stack of an error",
  }),
  noColor: setting<boolean>({
    flag: "--no-color",
    kind: toggle,
    default: false,
    description: "no colours, as with NO_COLOR",
  }),
} as const;
