/** The drawing of the timeline: one bar a version, by shape what kind it is, its height by rows, bytes or duration. */

import { changesTable, heightsOf, kindOf } from "./model.js";
import { PAD, placeOf, within } from "./zoom.js";

/**
 * @typedef {import("../tables.ts").VersionEntry} VersionEntry
 * @typedef {import("../tables.ts").VersionMarks} Marks
 * @typedef {{ width: number, height: number, ratio: number, min: number, max: number }} Frame
 * @typedef {{ bar: string, mark: string, warn: string, muted: string, cursor: string, ghost: string, page: string, hatch: string }} Colours
 * @typedef {{ entries: readonly VersionEntry[], measure: import("./model.js").Measure, marks: Marks }} Drawn
 */

const TOP = 16;
const AXIS = 14;
/** Dots nearer to each other than this are one line. */
const DOT_PX = 5;

/**
 * Draws the versions of the frame once; the cursor goes on top in `drawCursor`.
 * @param {Drawn} drawn @param {Frame} frame @param {Colours} colours
 */
export function drawVersions({ entries, measure, marks }, frame, colours) {
  const { width, height, ratio, min, max } = frame;
  const { canvas, pen } = sheet(frame);
  pen.scale(ratio, ratio);
  const floor = height - AXIS;
  const step = (width - 2 * PAD) / Math.max(1, max - min);
  const thick = Math.max(1, Math.min(18, step * 0.72));
  hatch(pen, marks, frame, { step, floor }, colours);
  pen.fillStyle = colours.muted;
  pen.fillRect(PAD - 8, floor, width - 2 * PAD + 16, 1);
  const { heights } = heightsOf(entries, measure);
  for (const entry of within(entries, frame)) {
    const share = heights.get(entry) ?? 0;
    const tall = Math.max(kindOf(entry) === "optimize" ? 14 : 3, share * (floor - TOP));
    const x = placeOf(frame, entry.version);
    drawVersion(pen, entry, { x, floor, tall, thick }, colours);
    if (changesTable(entry))
      triangle(pen, x, kindOf(entry) === "schema" ? floor - 3 : floor - tall - 2, colours);
  }
  dots(pen, marks, frame, floor, colours);
  return canvas;
}

/** An empty sheet of the frame's size in the screen's own pixels. @param {Pick<Frame, "width" | "height" | "ratio">} frame */
export function sheet({ width, height, ratio }) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  return { canvas, pen: /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")) };
}

/**
 * Versions that cannot be read any more stand before slanted lines.
 * @param {CanvasRenderingContext2D} pen @param {Marks} marks @param {Frame} frame
 * @param {{ step: number, floor: number }} place @param {Colours} colours
 */
function hatch(pen, { unreadable }, frame, { step, floor }, colours) {
  for (const [from, to] of unreadable) {
    if (to < frame.min || from > frame.max) continue;
    const reach = Math.min(Math.max(step / 2, 1), 11);
    const left = placeOf(frame, Math.max(from, frame.min)) - reach;
    const right = placeOf(frame, Math.min(to, frame.max)) + reach;
    pen.save();
    pen.beginPath();
    pen.rect(left, TOP, right - left, floor - TOP);
    pen.clip();
    pen.strokeStyle = colours.hatch;
    pen.lineWidth = 1;
    pen.beginPath();
    for (let x = Math.floor((left - floor) / 7) * 7; x < right; x += 7) {
      pen.moveTo(x, floor);
      pen.lineTo(x + floor - TOP, TOP);
    }
    pen.stroke();
    pen.restore();
  }
}

/** A dot below each version that has a checkpoint. @param {CanvasRenderingContext2D} pen @param {Marks} marks @param {Frame} frame @param {number} floor @param {Colours} colours */
function dots(pen, { checkpoints }, frame, floor, colours) {
  let last = Number.NEGATIVE_INFINITY;
  pen.fillStyle = colours.muted;
  for (const version of checkpoints) {
    if (version < frame.min || version > frame.max) continue;
    const x = placeOf(frame, version);
    if (x - last < DOT_PX) continue;
    last = x;
    pen.beginPath();
    pen.arc(x, floor + 6, 1.8, 0, 2 * Math.PI);
    pen.fill();
  }
}

/**
 * @param {CanvasRenderingContext2D} pen @param {VersionEntry} entry
 * @param {{ x: number, floor: number, tall: number, thick: number }} place @param {Colours} colours
 */
function drawVersion(pen, entry, { x, floor, tall, thick }, colours) {
  const left = x - thick / 2;
  const kind = kindOf(entry);
  if (kind === "append") {
    pen.fillStyle = colours.bar;
    pen.fillRect(left, floor - tall, thick, tall);
  } else if (kind === "optimize") {
    pen.fillStyle = pen.strokeStyle = colours.mark;
    pen.lineWidth = 1.5;
    if (thick < 4) pen.fillRect(left, floor - tall, thick, tall);
    else {
      pen.strokeRect(left + 0.5, floor - tall, thick - 1, tall);
      pen.fillRect(left - 2, floor - tall - 2, thick + 4, 3);
    }
  } else if (kind === "change") {
    pen.fillStyle = colours.warn;
    pen.fillRect(left, floor + 2, Math.max(2, thick), Math.min(AXIS - 2, 4 + tall / 6));
  } else if (kind === "restore") {
    pen.strokeStyle = colours.warn;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x + 6, floor - 8);
    pen.lineTo(x - 5, floor - 8);
    pen.moveTo(x - 1, floor - 12);
    pen.lineTo(x - 5, floor - 8);
    pen.lineTo(x - 1, floor - 4);
    pen.stroke();
  } else if (kind === "other") {
    pen.fillStyle = colours.muted;
    pen.fillRect(x - 1, floor - 3, 2, 3);
  }
}

/** On top of the bar of a version whose schema or properties are others. @param {CanvasRenderingContext2D} pen @param {number} x @param {number} foot @param {Colours} colours */
function triangle(pen, x, foot, colours) {
  pen.fillStyle = colours.mark;
  pen.beginPath();
  pen.moveTo(x, foot - 9);
  pen.lineTo(x + 5, foot);
  pen.lineTo(x - 5, foot);
  pen.fill();
}

/**
 * The versions with the cursor on top; what is newer than the cursor is faded. A cursor out of sight is an arrow at the edge where it is.
 * @param {HTMLCanvasElement} canvas @param {HTMLCanvasElement} versions @param {Frame} frame
 * @param {number} version @param {Colours} colours
 */
export function drawCursor(canvas, versions, frame, version, colours) {
  const { width, height, ratio, min, max } = frame;
  if (canvas.width !== versions.width || canvas.height !== versions.height) {
    canvas.width = versions.width;
    canvas.height = versions.height;
  }
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(versions, 0, 0);
  pen.scale(ratio, ratio);
  const x = version < min ? 8 : version > max ? width - 8 : Math.round(placeOf(frame, version));
  const half = (width - 2 * PAD) / Math.max(1, max - min) / 2;
  pen.fillStyle = colours.ghost;
  pen.fillRect(x + Math.min(half, 11), 0, width, height - AXIS);
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = colours.muted;
  pen.textBaseline = "bottom";
  pen.textAlign = "left";
  if (x > PAD + 14) pen.fillText(String(min), 4, height);
  pen.textAlign = "right";
  if (x < width - PAD - 14 && max > min) pen.fillText(String(max), width - 4, height);
  pen.fillStyle = colours.cursor;
  if (version < min || version > max) {
    const tip = version < min ? -6 : 6;
    pen.beginPath();
    pen.moveTo(x + tip, height / 2);
    pen.lineTo(x, height / 2 - 7);
    pen.lineTo(x, height / 2 + 7);
    pen.fill();
  } else {
    pen.fillRect(x - 1, TOP, 2, height - TOP - AXIS + 4);
    pen.beginPath();
    pen.arc(x, height - AXIS + 4, 6, 0, 2 * Math.PI);
    pen.fill();
    pen.strokeStyle = colours.page;
    pen.lineWidth = 2;
    pen.stroke();
  }
  pen.font = "600 12px system-ui, sans-serif";
  pen.textBaseline = "top";
  pen.textAlign = "center";
  const text = String(version);
  const reach = pen.measureText(text).width / 2 + 2;
  pen.fillText(text, Math.min(width - reach, Math.max(reach, x)), 1);
}
