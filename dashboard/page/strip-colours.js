/** The colours of the timeline's pictures, as the theme has them now. */

/** @param {HTMLElement} strip */
export function stripColours(strip) {
  const style = getComputedStyle(strip);
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const cursor = strip.dataset.state === "pinned" ? of("--pinned") : of("--ok");
  return {
    bar: of("--info"),
    mark: of("--pinned"),
    warn: of("--warn"),
    muted: of("--muted"),
    ghost: of("--ghost"),
    page: of("--panel"),
    hatch: of("--line"),
    cursor,
  };
}
