/** What the operating system says about the data folder, in the lab's words. */

import { LabError } from "../core/errors.ts";

/** STORE_DENIED, or STORE_FULL, for an error of making `dataDir` or of writing into it, with the way out. */
export function dataFolderError(cause: unknown, dataDir: string): LabError {
  const { code } = cause as NodeJS.ErrnoException;
  const [fault, why, wayOut] =
    code === "ENOSPC" || code === "EDQUOT"
      ? (["STORE_FULL", "the disk is full", "free some space"] as const)
      : code === "EEXIST" || code === "ENOTDIR"
        ? (["STORE_DENIED", "a file stands where a folder is needed", "move that file away"] as const)
        : ([
            "STORE_DENIED",
            "it cannot be made, or not be written to",
            "give this user rights on it",
          ] as const);
  return new LabError(fault, `the data folder ${dataDir} cannot be used: ${why} (${code ?? cause})`, {
    hint: `${wayOut}, or choose another folder with --data`,
    details: { path: dataDir },
    cause,
  });
}
