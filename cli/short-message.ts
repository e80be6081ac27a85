/** Messages of the engine can fill a screen with types and candidates: what happened and where, without the lists. */

/** Longer ones are shortened. */
const MOST = 240;
const PLACE = / at line \d+, column \d+$/;
const CANDIDATES = /\.? Candidate (functions|entries|bindings): .*$/i;
const NESTED = /^(STRUCT|MAP|UNION|ENUM)\(/;

/**
 * The message as it is where it is short. Else fields of nested types go first, then the candidates, then whatever is behind the limit; the place
 * in the statement stays.
 */
export function shortMessage(message: string): string {
  if (message.length <= MOST) return message;
  const place = PLACE.exec(message)?.[0] ?? "";
  const what = withoutFields(message.slice(0, message.length - place.length));
  if (what.length + place.length <= MOST) return what + place;
  const alone = what.replace(CANDIDATES, "");
  const room = MOST - place.length;
  if (alone.length <= room) return alone + place;
  const cut = alone.slice(0, room);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(" "), room / 2))} ...${place}`;
}

/** `STRUCT(a INTEGER, b VARCHAR)` as `STRUCT(...)`. */
function withoutFields(text: string): string {
  let short = "";
  for (let at = 0; at < text.length; ) {
    const opening = NESTED.exec(text.slice(at, at + 7))?.[0];
    if (opening === undefined) {
      short += text[at++];
      continue;
    }
    let depth = 1;
    for (at += opening.length; at < text.length && depth > 0; at++)
      depth += text[at] === "(" ? 1 : text[at] === ")" ? -1 : 0;
    short += `${opening}...)`;
  }
  return short;
}
