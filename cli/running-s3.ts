/** The S3 server of a running lab, for commands in another terminal. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { lockOwner } from "../services/folder-lock.ts";

export const S3_FOLDER = "s3";

/**
 * Where one of `places` is on S3 and nothing says which server, the keys and address of the lab that runs on the data folder are put
 * into `env`, where the SDK looks for them.
 */
export async function useRunningS3(
  places: readonly unknown[],
  data: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  if (env.AWS_ENDPOINT_URL) return;
  if (!places.flat(2).some((place) => /^s3:\/\//i.test(String(place)))) return;
  if ((await lockOwner(data)) === null) return;
  const text = await readFile(join(data, S3_FOLDER, "s3.env"), "utf8").catch(() => "");
  Object.assign(env, parseEnv(text));
}
