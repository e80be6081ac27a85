/** From a URI, as a user writes it, to the store it names. */

import { fileURLToPath } from "node:url";
import { LabError } from "../../core/errors.ts";
import { localStore } from "./local.ts";
import { memoryStore } from "./memory.ts";
import { checkPath } from "./path.ts";
import { type S3Settings, s3Settings } from "./s3-settings.ts";
import type { Store } from "./store.ts";

/**
 * Opens a path (relative ones from the working directory), `file://`, `s3://bucket[/key]` or `memory://name`; the last is new and empty
 * each time. Nothing is made or asked for yet: a folder or bucket that is not there shows at the first call.
 *
 * S3 takes from `s3` what is given, else endpoint and region from the environment and credentials by the AWS SDK's chain.
 * USAGE, PATH_REFUSED, CONFIG_INVALID, CREDENTIALS_MISSING.
 */
export async function openStore(
  uri: string,
  options: { signal: AbortSignal; s3?: S3Settings; env?: NodeJS.ProcessEnv },
): Promise<Store> {
  options.signal.throwIfAborted();
  const [, scheme, rest = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\/(.*)$/s.exec(uri) ?? [];
  switch (scheme?.toLowerCase()) {
    case undefined:
      if (uri === "") throw badUri(uri, "is empty");
      return localStore(uri);
    case "file":
      return localStore(folderOf(uri));
    case "memory":
      return memoryStore({ name: rest });
    case "s3": {
      // Loaded here because the SDK takes a while to load and most commands do without.
      const { s3Store } = await import("./s3.ts");
      const settings = s3Settings(options.s3 ?? {}, options.env ?? process.env);
      return s3Store({ ...settings, ...bucketAndPrefix(uri) }, options.signal);
    }
    default:
      throw badUri(uri, `has the unknown scheme ${scheme}`);
  }
}

/** Bucket and key prefix of `s3://bucket[/key]`, which is not percent-encoded; slashes at the end are dropped. */
export function bucketAndPrefix(uri: string): { bucket: string; prefix: string } {
  const [, bucket = "", key = ""] = /^s3:\/\/([^/]*)\/*(.*)$/is.exec(uri) ?? [];
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/.test(bucket)) throw badUri(uri, "names no bucket");
  const prefix = key.replace(/\/+$/, "");
  if (prefix !== "") checkPath(prefix);
  return { bucket, prefix };
}

function folderOf(uri: string): string {
  try {
    return fileURLToPath(uri);
  } catch (cause) {
    throw badUri(uri, "is no URI of a local folder", cause);
  }
}

function badUri(uri: string, why: string, cause?: unknown): LabError {
  return new LabError("USAGE", `the store ${JSON.stringify(uri)} ${why}`, {
    hint: "give a folder, file:///folder or s3://bucket/key",
    details: { uri },
    cause,
  });
}
