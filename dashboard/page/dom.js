/** Making and updating elements. Text goes in as text: nothing here parses markup. */

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

/**
 * An element with attributes (true is an empty attribute; false and null leave it out) and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | null>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  element.append(...children);
  return element;
}

/** @param {Element} element @param {string} name @param {string | number | boolean | null} value */
export function setAttribute(element, name, value) {
  if (value === null || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value))
    element.setAttribute(name, value === true ? "" : String(value));
}

/** Writes only what differs, so that a selection survives an update. @param {Node} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Brings the children of `parent` in line with `items`: keeps the element of each key, so focus and scroll stay.
 * @template T
 * @param {Element} parent
 * @param {readonly T[]} items
 * @param {(item: T) => string} keyOf
 * @param {() => HTMLElement} make
 * @param {(element: HTMLElement, item: T) => void} update
 */
export function keepInLine(parent, items, keyOf, make, update) {
  const before = new Map(
    [...parent.children].map((child) => [/** @type {HTMLElement} */ (child).dataset.key, child]),
  );
  items.forEach((item, index) => {
    const key = keyOf(item);
    const element = /** @type {HTMLElement} */ (before.get(key) ?? make());
    before.delete(key);
    element.dataset.key = key;
    update(element, item);
    if (parent.children[index] !== element) parent.insertBefore(element, parent.children[index] ?? null);
  });
  for (const gone of before.values()) gone.remove();
}

/** A time in UTC, with the local one in its title. @param {string} iso @param {string} text */
export const time = (iso, text) => h("time", { datetime: iso, title: new Date(iso).toLocaleString() }, text);

/** The last values as a small line beside their number. @param {SVGSVGElement} svg @param {readonly number[]} values */
export function drawSpark(svg, values) {
  const top = Math.max(1, ...values);
  const points = values.map((value, n) => `${60 - values.length + n + 0.5},${15 - (value / top) * 13}`);
  const line = /** @type {SVGPolylineElement} */ (svg.firstElementChild);
  setAttribute(line, "points", points.join(" "));
}

export function sparkline() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.append(document.createElementNS("http://www.w3.org/2000/svg", "polyline"));
  svg.setAttribute("viewBox", "0 0 60 16");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("class", "spark");
  svg.setAttribute("aria-hidden", "true");
  return svg;
}
