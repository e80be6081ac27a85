/** File paths as the log writes them (URI references, RFC 2396) and as stores know them (plain). */

const KEEP = /[A-Za-z0-9\-._~/=+@$&,;]/;
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;

/** A plain relative path as `add.path` holds it: UTF-8, percent-encoded per byte outside a small safe set. */
export function encodePath(path: string): string {
  let encoded = "";
  for (const char of path) {
    if (KEEP.test(char)) {
      encoded += char;
      continue;
    }
    for (const byte of Buffer.from(char)) encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** Undoes `encodePath` once. `+` stays `+`; a `%` that starts no UTF-8 sequence (old writers) leaves all as it is. */
export function decodePath(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Whether the log's path stands by itself: `scheme:...` or `/...`. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith("/") || SCHEME.test(path);
}

/**
 * One name for one file, whatever spelling the log uses: relative and decoded below `root`, else a full decoded URI.
 * `file:/x`, `file:///x` and `/x` are one file, `s3a://` and `s3n://` are `s3://`.
 */
export function canonicalPath(root: string, path: string): string {
  return locate(root, path).name;
}

/** The path to ask the table's store for; undefined for a file outside of the table's root. */
export function storePath(root: string, path: string): string | undefined {
  const { name, inside } = locate(root, path);
  return inside ? name : undefined;
}

/** Where a file outside of the table's root is in the local file system; undefined where the table or the file is not in it. */
export function localPathOutside(root: string, path: string): string | undefined {
  const { name, inside } = locate(root, path);
  const isLocal = !inside && root.startsWith("file:") && name.startsWith("file://");
  return isLocal ? name.slice("file://".length) : undefined;
}

function locate(root: string, path: string): { name: string; inside: boolean } {
  if (!isAbsolutePath(path)) return { name: decodePath(path), inside: true };
  const full = canonicalUri(path);
  const base = `${canonicalUri(root)}/`;
  const inside = full.startsWith(base);
  return { name: inside ? full.slice(base.length) : full, inside };
}

function canonicalUri(uri: string): string {
  const plain = decodePath(uri);
  if (plain.startsWith("/")) return `file:///${plain.replace(/^\/+/, "")}`;
  const host = /^file:\/\/localhost(?=\/)/i.exec(plain);
  if (host) return `file:///${plain.slice(host[0].length).replace(/^\/+/, "")}`;
  if (/^file:/i.test(plain)) return `file:///${plain.slice(5).replace(/^\/+/, "")}`;
  return plain.replace(/^s3[an]:/, "s3:");
}
