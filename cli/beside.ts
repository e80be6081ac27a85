/** Which tables of a store belong to another one: the lab names them after it. */

import { ASIDE_SUFFIX } from "../cdc/merge/aside.ts";
import { lettersUri, stateUri } from "../letters/tables.ts";

export type Beside = { table: string; holds: "dead letters" | "what became of letters" | "deleted keys" };

/** Null for a table of its own. Letters may be there before the table that they are of; any other table must be among `names`. */
export function besideOf(name: string, names: readonly string[]): Beside | null {
  const [letters, states] = [lettersUri(""), stateUri("")];
  const base = (end: string) => name.slice(0, -end.length);
  if (name.endsWith(states)) return { table: base(states), holds: "what became of letters" };
  if (name.endsWith(letters)) return { table: base(letters), holds: "dead letters" };
  if (name.endsWith(ASIDE_SUFFIX) && names.includes(base(ASIDE_SUFFIX)))
    return { table: base(ASIDE_SUFFIX), holds: "deleted keys" };
  return null;
}
