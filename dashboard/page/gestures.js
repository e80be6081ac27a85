/** Wheel and pinch over the timeline: both zoom, and a sideways wheel moves along. */

/** A wheel that was scrolling the page when it came over the timeline goes on scrolling it. */
const GESTURE_MS = 400;
const WHEEL_SPEED = 0.0025;
const LINE_PX = 16;

/**
 * `zoomBy` hears how many times as many versions shall show and the place in the element that stays, and tells whether anything changed; `moveBy`
 * by how many pixels the view moves. Both places and distances are in CSS pixels.
 * @param {HTMLElement} element
 * @param {{ zoomBy: (factor: number, x: number) => boolean, moveBy: (pixels: number) => boolean }} act
 */
export function wheelZooms(element, { zoomBy, moveBy }) {
  let scrolledAt = Number.NEGATIVE_INFINITY;
  addEventListener("scroll", () => {
    scrolledAt = performance.now();
  });
  element.addEventListener(
    "wheel",
    (event) => {
      // A pinch on a touchpad comes as a wheel with Ctrl.
      if (!event.ctrlKey && performance.now() - scrolledAt < GESTURE_MS) return;
      const unit = event.deltaMode === 1 ? LINE_PX : 1;
      const x = event.clientX - element.getBoundingClientRect().left;
      const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      const speed = event.ctrlKey ? WHEEL_SPEED * 4 : WHEEL_SPEED;
      const isDone = isSideways
        ? moveBy((event.deltaX || event.deltaY) * unit)
        : zoomBy(Math.exp(event.deltaY * unit * speed), x);
      // At the end of the zoom the wheel is the page's again.
      if (isDone || event.ctrlKey) event.preventDefault();
    },
    { passive: false },
  );
}

/**
 * Two fingers on the element zoom it. `isPinching` tells whether they do, so that what one finger means is left out.
 * @param {HTMLElement} element
 * @param {{ zoomBy: (factor: number, x: number) => boolean }} act
 */
export function pinchZooms(element, { zoomBy }) {
  /** @type {Map<number, number>} */
  const fingers = new Map();
  let isPinching = false;
  element.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return;
    fingers.set(event.pointerId, event.clientX);
    if (fingers.size === 2) isPinching = true;
  });
  element.addEventListener("pointermove", (event) => {
    const before = distance(fingers);
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event.clientX);
    const after = distance(fingers);
    if (fingers.size !== 2 || before < 1 || after < 1) return;
    const [a = 0, b = 0] = fingers.values();
    zoomBy(before / after, (a + b) / 2 - element.getBoundingClientRect().left);
  });
  for (const end of /** @type {const} */ (["pointerup", "pointercancel"]))
    element.addEventListener(end, (event) => {
      fingers.delete(event.pointerId);
      if (fingers.size === 0) isPinching = false;
    });
  return { isPinching: () => isPinching };
}

/** @param {Map<number, number>} fingers */
function distance(fingers) {
  const [a, b] = fingers.values();
  return a === undefined || b === undefined ? 0 : Math.abs(a - b);
}

/** Calls `act` at once, and again and again while the button is held. @param {HTMLElement} button @param {() => void} act */
export function repeatWhileHeld(button, act) {
  let timer = 0;
  const stop = () => clearTimeout(timer);
  const again = () => {
    act();
    timer = window.setTimeout(again, 90);
  };
  button.addEventListener("click", (event) => {
    if (event.detail === 0) act();
  });
  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    act();
    timer = window.setTimeout(again, 400);
  });
  for (const end of ["pointerup", "pointerleave", "pointercancel"]) button.addEventListener(end, stop);
}
