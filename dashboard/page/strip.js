/** The drawing of the timeline: one bar a version, by shape what kind it is, height by rows. */

import { kindOf } from "./model.js";

/**
 * @typedef {import("../tables.ts").VersionEntry} VersionEntry
 * @typedef {{ width: number, height: number, ratio: number, min: number, max: number }} Frame
 * @typedef {{ bar: string, mark: string, warn: string, muted: string, cursor: string, ghost: string, page: string }} Colours
 */

/** Half of the slider's thumb: the browser keeps its centre this far from both ends. */
const PAD = 22;
const TOP = 16;
const AXIS = 14;

/** Where a version stands, in CSS pixels. @param {Frame} frame @param {number} version */
export function placeOf({ width, min, max }, version) {
  const share = max === min ? 0.5 : (version - min) / (max - min);
  return PAD + share * (width - 2 * PAD);
}

/** Beyond this spread between versions heights are logarithmic, and the legend says so. */
const LOG_FROM = 100;

/** Height of each version between 0 and 1. @param {readonly VersionEntry[]} entries */
export function heightsOf(entries) {
  const sizes = entries.map(({ rowsAdded, rowsRemoved }) =>
    Math.max(Number(rowsAdded ?? 0), Number(rowsRemoved ?? 0)),
  );
  const most = sizes.reduce((a, b) => Math.max(a, b), 1);
  const least = sizes.reduce((a, b) => (b > 0 ? Math.min(a, b) : a), most);
  const isLog = most / least > LOG_FROM;
  const heights = sizes.map((n) => (isLog ? Math.log1p(n) / Math.log1p(most) : n / most));
  return { heights, isLog };
}

/**
 * Draws all versions once; the cursor goes on top in `drawCursor`.
 * @param {readonly VersionEntry[]} entries @param {Frame} frame @param {Colours} colours
 */
export function drawVersions(entries, frame, colours) {
  const { width, height, ratio, min, max } = frame;
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.scale(ratio, ratio);
  const floor = height - AXIS;
  const step = (width - 2 * PAD) / Math.max(1, max - min);
  const thick = Math.max(1, Math.min(18, step * 0.72));
  const { heights } = heightsOf(entries);
  pen.fillStyle = colours.muted;
  pen.fillRect(PAD - 8, floor, width - 2 * PAD + 16, 1);
  entries.forEach((entry, n) => {
    const tall = Math.max(kindOf(entry) === "optimize" ? 14 : 3, (heights[n] ?? 0) * (floor - TOP));
    drawVersion(pen, entry, { x: placeOf(frame, entry.version), floor, tall, thick }, colours);
  });
  return canvas;
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
  } else if (kind === "schema") {
    pen.fillStyle = colours.mark;
    pen.beginPath();
    pen.moveTo(x, floor - 12);
    pen.lineTo(x + 5, floor - 3);
    pen.lineTo(x - 5, floor - 3);
    pen.fill();
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
  } else {
    pen.fillStyle = colours.muted;
    pen.fillRect(x - 1, floor - 3, 2, 3);
  }
}

/**
 * The versions with the cursor on top; what is newer than the cursor is faded.
 * @param {HTMLCanvasElement} canvas @param {HTMLCanvasElement} versions @param {Frame} frame
 * @param {number} version @param {Colours} colours
 */
export function drawCursor(canvas, versions, frame, version, colours) {
  const { width, height, ratio } = frame;
  if (canvas.width !== versions.width || canvas.height !== versions.height) {
    canvas.width = versions.width;
    canvas.height = versions.height;
  }
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(versions, 0, 0);
  pen.scale(ratio, ratio);
  const x = Math.round(placeOf(frame, version));
  const half = (width - 2 * PAD) / Math.max(1, frame.max - frame.min) / 2;
  pen.fillStyle = colours.ghost;
  pen.fillRect(x + Math.min(half, 11), 0, width, height - AXIS);
  pen.fillStyle = colours.cursor;
  pen.fillRect(x - 1, TOP, 2, height - TOP - AXIS + 4);
  pen.beginPath();
  pen.arc(x, height - AXIS + 4, 6, 0, 2 * Math.PI);
  pen.fill();
  pen.strokeStyle = colours.page;
  pen.lineWidth = 2;
  pen.stroke();
  pen.font = "11px system-ui, sans-serif";
  pen.fillStyle = colours.muted;
  pen.textBaseline = "bottom";
  pen.textAlign = "left";
  if (x > PAD + 14) pen.fillText(String(frame.min), 4, height);
  pen.textAlign = "right";
  if (x < width - PAD - 14 && frame.max > frame.min) pen.fillText(String(frame.max), width - 4, height);
  pen.fillStyle = colours.cursor;
  pen.font = "600 12px system-ui, sans-serif";
  pen.textBaseline = "top";
  pen.textAlign = "center";
  const text = String(version);
  const reach = pen.measureText(text).width / 2 + 2;
  pen.fillText(text, Math.min(width - reach, Math.max(reach, x)), 1);
}
