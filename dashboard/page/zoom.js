/** Which versions the timeline shows: all of them, as many as its width shows well, or as many as the user zoomed to. Pure. */

/**
 * Versions, both ends included.
 * @typedef {{ min: number, max: number }} Span
 * How many versions show; "fit" is as many as can be told apart.
 * @typedef {"fit" | "all" | number} Zoom
 */

/** Half of the slider's thumb: the browser keeps its centre this far from both ends. */
export const PAD = 22;
/** Narrower than this, versions are not told apart. */
const FIT_PX = 4;
/** Nobody needs to come closer. */
const FEWEST = 10;

/** @param {Span} span */
export const sizeOf = ({ min, max }) => max - min + 1;

/** How many of `all` a strip of this width shows. @param {Zoom} zoom @param {Span} all @param {number} width */
export function shownBy(zoom, all, width) {
  const fitting = Math.floor((width - 2 * PAD) / FIT_PX);
  const wanted = zoom === "all" ? sizeOf(all) : zoom === "fit" ? fitting : zoom;
  return Math.min(sizeOf(all), Math.max(FEWEST, Math.round(wanted)));
}

/** `shown` versions of `all` that begin at `from`, or as near as there are so many. @param {Span} all @param {number} shown @param {number} from @returns {Span} */
export function spanFrom(all, shown, from) {
  const min = Math.max(all.min, Math.min(Math.round(from), all.max - shown + 1));
  return { min, max: Math.min(all.max, min + shown - 1) };
}

/** The same span where it holds `version`, else one around it. @param {Span} all @param {Span} span @param {number} version */
export const spanWith = (all, span, version) =>
  version >= span.min && version <= span.max ? span : spanAround(all, sizeOf(span), version);

/** @param {Span} all @param {number} shown @param {number} version */
export const spanAround = (all, shown, version) => spanFrom(all, shown, version - (shown - 1) / 2);

/**
 * `factor` times as many versions, where `anchor` stays at its place on the screen.
 * @param {Span} all @param {Span} span @param {number} factor @param {number} anchor @returns {Span}
 */
export function zoomedBy(all, span, factor, anchor) {
  const shown = shownBy(sizeOf(span) * factor, all, 0);
  const share = (anchor - span.min) / Math.max(1, span.max - span.min);
  return spanFrom(all, shown, anchor - share * (shown - 1));
}

/** The versions of a list in order that are in a span. @template {{ version: number }} T @param {readonly T[]} entries @param {Span} span @returns {T[]} */
export const within = (entries, { min, max }) =>
  entries.slice(placeIn(entries, min), placeIn(entries, max + 1));

/** The place of the first entry that is not before `version`. @param {readonly { version: number }[]} entries @param {number} version */
export function placeIn(entries, version) {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (/** @type {{ version: number }} */ (entries[middle]).version < version) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where a version stands in a strip, in CSS pixels. @param {Span & { width: number }} frame @param {number} version */
export function placeOf({ width, min, max }, version) {
  const share = max === min ? 0.5 : (version - min) / (max - min);
  return PAD + share * (width - 2 * PAD);
}

/** The version that stands nearest to a place. @param {Span & { width: number }} frame @param {number} x */
export function versionAt({ width, min, max }, x) {
  const share = (x - PAD) / Math.max(1, width - 2 * PAD);
  return Math.min(max, Math.max(min, Math.round(min + share * (max - min))));
}
