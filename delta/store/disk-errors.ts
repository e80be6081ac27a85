/** What the operating system says about a file, in the store's words. */

import { type ErrorCode, LabError } from "../../core/errors.ts";

const KINDS: Record<string, { code: ErrorCode; says: string; hint: string }> = {
  missing: { code: "OBJECT_MISSING", says: "does not exist", hint: "check the path" },
  denied: {
    code: "STORE_DENIED",
    says: "may not be read or written",
    hint: "give this user rights on the folder, or choose another with --store",
  },
  full: { code: "STORE_FULL", says: "cannot be written: the disk is full", hint: "free some space" },
  refused: { code: "PATH_REFUSED", says: "is no name this file system takes", hint: "use a shorter name" },
  blocked: {
    code: "STORE_DENIED",
    says: "cannot be written: a file stands where a folder is needed",
    hint: "move that file away, or choose another folder with --store",
  },
  linkless: {
    code: "STORE_NOT_ATOMIC",
    says: "cannot be created safely: this file system has no hard links",
    hint: "keep the table on a file system that has them (not FAT), or on S3",
  },
  outage: { code: "STORE_UNREACHABLE", says: "cannot be reached", hint: "check the disk or mount" },
};

/** By error code, and first by system call with error code where the call decides what it means. */
const CODES: Record<string, keyof typeof KINDS> = {
  ENOENT: "missing",
  "read EISDIR": "missing",
  "open ENOTDIR": "missing",
  "stat ENOTDIR": "missing",
  EACCES: "denied",
  EPERM: "denied",
  EROFS: "denied",
  ENOSPC: "full",
  EDQUOT: "full",
  EFBIG: "full",
  ENAMETOOLONG: "refused",
  EILSEQ: "refused",
  ENOTDIR: "blocked",
  EISDIR: "blocked",
  EEXIST: "blocked",
  "link EPERM": "linkless",
  "link ENOSYS": "linkless",
  "link ENOTSUP": "linkless",
  "link EOPNOTSUPP": "linkless",
};

/** Any thrown value as a LabError of the store's contract, about `path`. Never throws. */
export function diskError(error: unknown, path: string): LabError {
  if (error instanceof LabError) return error;
  const { code, syscall, message } = (error ?? {}) as NodeJS.ErrnoException;
  const kind = KINDS[CODES[`${syscall} ${code}`] ?? CODES[code ?? ""] ?? "outage"]!;
  return new LabError(
    kind.code,
    `${path || "the store's folder"} ${kind.says} (${code ?? message ?? error})`,
    {
      hint: kind.hint,
      details: { path },
      cause: error,
    },
  );
}
