/** The table that a route's value names (contracts.md, "lab.yaml"). Tables exist under these names: never change them. */

/** The longest name of a folder that every file system takes, in bytes. */
const LONGEST_NAME = 255;
/** What follows a table's name and is no route: its dead letters and what is known of them, and rows without a value. */
const RESERVED = /^(dead_letters|dead_letters_state|null)$/;

/**
 * `<table>__<value>`: each byte of UTF-8 outside `[A-Za-z0-9_]` as `_xHH`, and `null` where there is no value. Different values have
 * different names, and none has that of a dead-letter table.
 */
export function routedUri(tableUri: string, value: string | null): string {
  return `${tableUri}__${value === null ? "null" : suffixOf(value)}`;
}

/** Whether the name is short enough for any store. */
export function isNameable(tableUri: string, value: string | null): boolean {
  return routedUri(tableUri, value).slice(tableUri.lastIndexOf("/") + 1).length <= LONGEST_NAME;
}

function suffixOf(value: string): string {
  if (value === "") return "_x";
  const bytes = Buffer.from(value);
  const name = Array.from(bytes, (byte, i) => {
    // An underscore that would read like the start of an escape is escaped itself.
    const isEscape = byte === UNDERSCORE && bytes[i + 1] === LOWER_X;
    return isEscape || !PLAIN.test(String.fromCharCode(byte)) ? hex(byte) : String.fromCharCode(byte);
  }).join("");
  return RESERVED.test(name) ? `${hex(name.charCodeAt(0))}${name.slice(1)}` : name;
}

const UNDERSCORE = 0x5f;
const LOWER_X = 0x78;
const PLAIN = /[A-Za-z0-9_]/;
const hex = (byte: number) => `_x${byte.toString(16).toUpperCase().padStart(2, "0")}`;
