/** The strip below the timeline: all versions in small, with the part that the timeline shows; touched, it goes there. */

import { byId } from "./dom.js";
import { heightsOf, kindOf } from "./model.js";
import { sheet } from "./strip.js";
import { placeOf, versionAt } from "./zoom.js";

/** @param {{ goTo: (version: number) => void, hold: (isHeld: boolean) => void }} act */
export function overviewStrip({ goTo, hold }) {
  const box = byId("overview");
  const canvas = /** @type {HTMLCanvasElement} */ (byId("overview-canvas"));
  /** @type {{ key: readonly unknown[], canvas: HTMLCanvasElement, frame: import("./strip.js").Frame } | null} */
  let drawn = null;
  let isHeld = false;
  let room = { width: 0, height: 0 };

  const go = (/** @type {PointerEvent} */ event) => {
    if (drawn !== null) goTo(versionAt(drawn.frame, event.clientX - box.getBoundingClientRect().left));
  };
  box.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    isHeld = true;
    box.setPointerCapture(event.pointerId);
    hold(true);
    go(event);
  });
  box.addEventListener("pointermove", (event) => {
    if (isHeld) go(event);
  });
  const release = () => {
    if (isHeld) hold(false);
    isHeld = false;
  };
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) box.addEventListener(end, release);

  return {
    /** The window has another size. */
    measure() {
      room = { width: box.clientWidth, height: box.clientHeight };
    },
    /** Nothing where there are no versions. */
    clear() {
      drawn = null;
      canvas.getContext("2d")?.clearRect(0, 0, canvas.width, canvas.height);
    },
    /**
     * @param {import("./strip.js").Drawn} all @param {import("./zoom.js").Span} span of all versions
     * @param {import("./zoom.js").Span} shown by the timeline @param {number} version @param {import("./strip.js").Colours} colours
     */
    draw(all, span, shown, version, colours) {
      const { width, height } = room;
      const frame = { width, height, ratio: devicePixelRatio, ...span };
      const key = [
        all.entries,
        all.measure,
        all.marks,
        width,
        height,
        devicePixelRatio,
        colours.bar,
        span.min,
        span.max,
      ];
      if (!drawn?.key.every((value, n) => value === key[n]))
        drawn = { key, frame, canvas: drawAll(all, frame, colours) };
      drawWindow(canvas, drawn.canvas, frame, shown, version, colours);
    },
  };
}

/** One column a pixel, as high as the highest of its versions. @param {import("./strip.js").Drawn} all @param {import("./strip.js").Frame} frame @param {import("./strip.js").Colours} colours */
function drawAll({ entries, measure, marks }, frame, colours) {
  const { canvas, pen } = sheet(frame);
  pen.scale(frame.ratio, frame.ratio);
  const { heights } = heightsOf(entries, measure);
  /** @type {Map<number, { tall: number, colour: string }>} */
  const columns = new Map();
  for (const entry of entries) {
    const x = Math.round(placeOf(frame, entry.version));
    const isPlain = kindOf(entry) === "append" || kindOf(entry) === "other";
    const tall = Math.max(1, (heights.get(entry) ?? 0) * (frame.height - 6));
    const before = columns.get(x);
    const colour = isPlain ? (before?.colour ?? colours.bar) : colours.mark;
    columns.set(x, { tall: Math.max(tall, before?.tall ?? 0), colour });
  }
  for (const [x, { tall, colour }] of columns) {
    pen.fillStyle = colour;
    pen.fillRect(x - 0.5, frame.height - 2 - tall, 1, tall);
  }
  pen.fillStyle = colours.hatch;
  for (const [from, to] of marks.unreadable) {
    const left = placeOf(frame, Math.max(frame.min, from));
    pen.fillRect(left, frame.height - 2, Math.max(1, placeOf(frame, Math.min(frame.max, to)) - left), 2);
  }
  return canvas;
}

/**
 * @param {HTMLCanvasElement} canvas @param {HTMLCanvasElement} all @param {import("./strip.js").Frame} frame
 * @param {import("./zoom.js").Span} shown @param {number} version @param {import("./strip.js").Colours} colours
 */
function drawWindow(canvas, all, frame, shown, version, colours) {
  if (canvas.width !== all.width || canvas.height !== all.height) {
    canvas.width = all.width;
    canvas.height = all.height;
  }
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(all, 0, 0);
  pen.scale(frame.ratio, frame.ratio);
  const left = Math.round(placeOf(frame, shown.min)) - 4;
  const right = Math.round(placeOf(frame, shown.max)) + 4;
  pen.fillStyle = colours.ghost;
  pen.fillRect(0, 0, left, frame.height);
  pen.fillRect(right, 0, frame.width - right, frame.height);
  pen.strokeStyle = colours.muted;
  pen.lineWidth = 1;
  pen.strokeRect(left + 0.5, 0.5, right - left - 1, frame.height - 1);
  pen.fillStyle = colours.cursor;
  pen.fillRect(Math.round(placeOf(frame, version)) - 1, 1, 2, frame.height - 2);
}
