/** Tables that belong to another one: its dead letters, what became of them, and the keys that were deleted from it. Pure. */

const ENDS = /__(dead_letters_state|dead_letters|deletes)$/;
const WORDS = {
  dead_letters_state: "what became of letters",
  dead_letters: "dead letters",
  deletes: "deleted keys",
};

/**
 * Null for a table of its own. Letters may be there before the table that they are of; deleted keys need it among `names`, as a table of the user's may be called so.
 * @param {string} name @param {readonly string[]} names
 */
export function besideOf(name, names) {
  const end = /** @type {keyof typeof WORDS | undefined} */ (ENDS.exec(name)?.[1]);
  if (end === undefined) return null;
  const table = name.replace(ENDS, "");
  return end === "deletes" && !names.includes(table) ? null : { table, holds: WORDS[end] };
}

/** The table that one belongs to, or itself. @param {string} name @param {readonly string[]} names */
export const ownerOf = (name, names) => besideOf(name, names)?.table ?? name;
