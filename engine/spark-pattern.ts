/** Patterns of Spark's LIKE and RLIKE (Java's regular expressions) as DuckDB's (RE2), where both match the same texts. */

import { Untranslatable } from "./spark-lexer.ts";

/** LIKE is the same in both. Untranslatable where Spark takes no such pattern: an escape has to stand before a wildcard or itself. */
export function checkLikePattern(pattern: string, sign: string): void {
  if ([...sign].length !== 1 || sign === "%" || sign === "_")
    throw new Untranslatable(`the escape '${sign}' of LIKE`);
  const characters = [...pattern];
  for (let at = 0; at < characters.length; at++) {
    if (characters[at] !== sign) continue;
    const next = characters[++at];
    if (next !== sign && next !== "%" && next !== "_")
      throw new Untranslatable(`the LIKE pattern '${pattern}'`);
  }
}

/** What Java ends lines with: `.` takes none of it, and one of it may stand behind `$`. */
const LINE_ENDS = String.raw`\n\r\x{85}\x{2028}\x{2029}`;
const ANY = `[^${LINE_ENDS}]`;
const END = String.raw`(?:\r\n|[${LINE_ENDS}])?\z`;

/** A pattern that is found in the same texts. Untranslatable for what the engines read in different ways, and for what is rare. */
export function regexPattern(pattern: string): string {
  const refuse = (what: string) => new Untranslatable(`${what} in the pattern '${pattern}'`);
  let translated = "";
  let depth = 0;
  let rest = pattern;
  const take = (found: RegExp): string | undefined => {
    const [text] = found.exec(rest) ?? [];
    if (text !== undefined) rest = rest.slice(text.length);
    return text;
  };
  while (rest !== "") {
    const found =
      // A class, a quantifier (two in a row are possessive, or an error), an escape, a group that opens, a character.
      take(/^\[\^?(?:[^\\[\]&]|\\[dwDW.\-\\/^$+*?()[\]{}|])+\]/u) ??
      take(/^(?:[*+?]|\{\d{1,3}(?:,(?:\d{1,3})?)?\})\??(?![*+?{])/) ??
      take(/^\\[dwDW.\-\\/^$+*?()[\]{}|]/) ??
      take(/^\((?:\?:|(?!\?))/) ??
      take(/^[^\\[\](){}*+?.^$|]/u);
    if (found !== undefined) {
      if (found.startsWith("(")) depth++;
      translated += found;
    } else if (take(/^\)/)) {
      depth--;
      translated += ")";
    } else if (take(/^\./)) translated += ANY;
    else if (take(/^\|/)) translated += "|";
    else if (take(/^\^/)) translated += String.raw`\A`;
    else if (/^\$(?:\)*$|\|)/.test(rest) && (depth === 0 || /^\$\)*$/.test(rest))) {
      rest = rest.slice(1);
      translated += END;
    } else throw refuse(`${[...rest][0]}`);
  }
  if (depth !== 0) throw refuse("a group without its end");
  return translated;
}
