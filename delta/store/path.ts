/** Paths inside a store: which are allowed, and the order in which they are listed. */

import { LabError } from "../../core/errors.ts";

/**
 * Returns `path` if it names an object inside a store: relative, `/`-separated, no empty, `.` or `..` part, no NUL,
 * no half of a surrogate pair (its UTF-8 would name another object). Throws PATH_REFUSED otherwise.
 */
export function checkPath(path: string): string {
  if (path === "" || path.split("/").some(isForbiddenPart) || hasForbiddenCharacter(path))
    throw refused(path);
  return path;
}

/** Returns `prefix` if objects inside a store may begin with it; its last part may be incomplete. Throws PATH_REFUSED. */
export function checkPrefix(prefix: string): string {
  if (prefix.split("/").slice(0, -1).some(isForbiddenPart) || hasForbiddenCharacter(prefix))
    throw refused(prefix);
  return prefix;
}

/** Compares as the UTF-8 bytes of both would: the order of S3 listings, which `<` on strings is not beyond U+D7FF. */
export function compareUtf8(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above U+FFFF, so they rank after the rest of the UTF-16 units. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

function isForbiddenPart(part: string): boolean {
  return part === "" || part === "." || part === "..";
}

function hasForbiddenCharacter(path: string): boolean {
  return path.includes("\0") || /\p{Surrogate}/u.test(path);
}

function refused(path: string): LabError {
  return new LabError(
    "PATH_REFUSED",
    `the path ${JSON.stringify(path)} does not name an object inside the store`,
    {
      hint: "paths are relative to the table, without empty, `.` or `..` parts",
      details: { path },
    },
  );
}
