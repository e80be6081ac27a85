/** What a chore does or did, in a sentence. Pure. */

import { bytes, count, duration, many } from "./format.js";

/** @typedef {import("../work.ts").Job} Job */

/** @param {Job} job @param {number} now */
export function jobText(job, now) {
  const { what, startedAt, endedAt, progress, problem, result } = job;
  if (problem !== null)
    return `${what} failed: ${problem.message} (${problem.code})${problem.hint ? `. ${problem.hint}` : ""}`;
  const took = duration((endedAt === null ? now : Date.parse(endedAt)) - Date.parse(startedAt));
  if (endedAt === null)
    return `${what} runs for ${took}${progress === null ? "" : `: ${progressText(progress)}`}`;
  return `${what} took ${took}: ${resultText(what, result)}`;
}

/** @param {import("../work.ts").Progress} progress */
export const progressText = ({ step, done, total }) =>
  `${step}, ${count(done)}${total === null ? "" : ` of ${count(total)}`}`;

/** @param {string} what @param {any} result */
function resultText(what, result) {
  if (/optimize/i.test(what))
    return result.version === null
      ? "nothing to do"
      : `${many(result.filesRemoved, "file")} (${bytes(result.bytesRemoved)}) became ${count(result.filesAdded)} (${bytes(result.bytesAdded)}), version ${result.version}`;
  if (/vacuum/i.test(what)) {
    const ended = /** @type {{ from: number, to: number }[]} */ (result.ended ?? []);
    const versions = ended.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(", ");
    const verb = result.dryRun ? "would go" : "went";
    const end = result.dryRun ? "could no longer be read" : "can no longer be read";
    return `${many(result.files, "file")} (${bytes(result.bytes)}) ${verb}${versions === "" ? "; every version stays readable" : `; versions ${versions} ${end}`}`;
  }
  if (/restore/i.test(what))
    return result.version === null
      ? "the table was so already"
      : `version ${result.version} is equal to version ${result.restored}; ${count(result.filesRestored)} files back, ${count(result.filesRemoved)} out`;
  if (/drop/i.test(what))
    return `${many(result.dropped, "letter")} dropped${result.present > 0 ? `, ${count(result.present)} were rows already` : ""}`;
  const reasons = /** @type {{ code: string, letters: number, example: string }[]} */ (result.reasons ?? []);
  const why = reasons
    .map(({ code, letters, example }) => `${count(letters)} ${code}, for example ${example}`)
    .join("; ");
  const told = [
    `${many(result.replayed, "letter")} ${/trial/i.test(what) ? "would become" : "became"} ${many(result.rows, "row")}`,
    ...(result.present > 0 ? [`${count(result.present)} were rows already`] : []),
    ...(result.filtered > 0 ? [`${count(result.filtered)} left out by the transform`] : []),
    ...(result.pending > 0 ? [`${count(result.pending)} not settled yet`] : []),
    ...(result.bad > 0 ? [`${count(result.bad)} still bad: ${why}`] : []),
  ];
  return told.join(", ");
}
