/** The keys of the timeline: all while its slider has the focus, and `[` `]` wherever nothing is typed. */

/**
 * `step` goes so many versions on, `goTo` to one; `edges` are the oldest and the newest, `pageOf` is how many a page has.
 * @param {HTMLInputElement} slider
 * @param {{ step: (by: number) => void, toMark: (by: 1 | -1) => void, goTo: (version: number) => void, goLive: () => void, showAll: () => void,
 *   edges: () => [oldest: number, newest: number], pageOf: () => number, zoom: (nearer: boolean) => void, typePlace: () => void, compare: () => void }} act
 */
export function connectKeys(slider, act) {
  const { step, toMark, goTo, goLive, showAll, edges, pageOf, zoom, typePlace, compare } = act;
  /** @type {Readonly<Record<string, () => void>>} */
  const keys = {
    ...{
      ArrowLeft: () => step(-1),
      ArrowDown: () => step(-1),
      ArrowRight: () => step(1),
      ArrowUp: () => step(1),
    },
    PageDown: () => step(-pageOf()),
    PageUp: () => step(pageOf()),
    Home: () => goTo(edges()[0]),
    End: () => goTo(edges()[1]),
    ...{ m: () => toMark(1), M: () => toMark(-1), l: goLive, g: typePlace, c: compare },
    ...{ "+": () => zoom(true), "=": () => zoom(true), "-": () => zoom(false), 0: showAll },
  };
  slider.addEventListener("keydown", (event) => {
    const press = isChord(event) ? undefined : keys[event.key];
    press?.();
    if (press !== undefined) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (isTyping(event.target) || isChord(event)) return;
    if (event.key === "[") step(-1);
    if (event.key === "]") step(1);
  });
}

const isChord = (/** @type {KeyboardEvent} */ { ctrlKey, metaKey, altKey }) => ctrlKey || metaKey || altKey;

/** @param {EventTarget | null} target */
export const isTyping = (target) =>
  target instanceof HTMLElement &&
  (target.matches("input:not([type=range]), textarea, select") || target.isContentEditable);
