/** The S3 server of a running lab, for commands in another terminal. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { lockOwner } from "../services/folder-lock.ts";

export const S3_FOLDER = "s3";

/**
 * Where the store is on S3 and nothing says which server, the keys and address of the lab that runs on the data folder are put into
 * `env`, where the SDK looks for them.
 */
export async function useRunningS3(
  values: Readonly<Record<string, unknown>>,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const uris = [values.store, values.table].flat().map(String);
  if (env.AWS_ENDPOINT_URL || typeof values.data !== "string") return;
  if (!uris.some((uri) => /^(\w+=)?s3:\/\//i.test(uri))) return;
  if ((await lockOwner(values.data)) === null) return;
  const text = await readFile(join(values.data, S3_FOLDER, "s3.env"), "utf8").catch(() => "");
  Object.assign(env, parseEnv(text));
}
