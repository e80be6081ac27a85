/** The keys of the S3 server that belongs to a data folder: made once, kept where only this user can read them. */

import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";

export type Keys = { accessKeyId: string; secretAccessKey: string };

const FILE = "s3.env";

/** The keys in the folder's file, or new random ones where it holds none. */
export async function keysOf(dataDir: string): Promise<Keys> {
  const kept = parseEnv(await readFile(join(dataDir, FILE), "utf8").catch(() => ""));
  return {
    accessKeyId: kept.AWS_ACCESS_KEY_ID || randomBytes(10).toString("hex"),
    secretAccessKey: kept.AWS_SECRET_ACCESS_KEY || randomBytes(20).toString("hex"),
  };
}

/** Writes keys and address as environment variables, mode 600, for `set -a; . FILE`; returns the file's path. */
export async function writeKeys(dataDir: string, env: Readonly<Record<string, string>>): Promise<string> {
  const file = join(dataDir, FILE);
  const text = Object.entries(env).map(([key, value]) => `${key}=${value}\n`);
  await writeFile(`${file}.new`, text.join(""), { mode: 0o600 });
  await rename(`${file}.new`, file);
  return file;
}
