/** The folder in which an ingester makes its files, and what killed ones have left there. */

import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { dataFolderError } from "../services/data-folder-error.ts";
import { isAlive } from "../services/process-identity.ts";

const folderOf = (data: string) => join(data, "staging");
/** A pid means something on its own machine only, and folders may be shared by containers. */
const HOST = hostname().replace(/[^A-Za-z0-9]/g, "_");

/**
 * A fresh folder of this process. Folders of processes that are no more on this machine go: no table names what is in them. STORE_DENIED or
 * STORE_FULL where `data` cannot be made or written to.
 */
export async function openStaging(data: string): Promise<string> {
  const folder = folderOf(data);
  try {
    await mkdir(folder, { recursive: true });
    for (const left of await leftStaging(data)) await rm(left, { recursive: true, force: true });
    return await mkdtemp(join(folder, `ingest-${HOST}-${process.pid}-`));
  } catch (error) {
    throw dataFolderError(error, data);
  }
}

/** Folders of ingesters of this machine that were killed. */
export async function leftStaging(data: string): Promise<string[]> {
  const folder = folderOf(data);
  const names = await readdir(folder).catch(() => []);
  return names.filter(isLeft).map((name) => join(folder, name));
}

function isLeft(name: string): boolean {
  const [, host, pid] = /^ingest-([A-Za-z0-9_]*)-(\d+)-/.exec(name) ?? [];
  return host === HOST && pid !== undefined && !isAlive(Number(pid));
}
