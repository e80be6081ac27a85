/** Asking the server. A failure always has a code, a message and, where there is one, a way out. */

export class Refusal extends Error {
  /**
   * `isOutage`: the same question may be answered later.
   * @param {{ code: string, message: string, hint?: string, position?: number }} problem @param {boolean} isOutage
   */
  constructor(problem, isOutage) {
    super(problem.message);
    this.problem = problem;
    this.isOutage = isOutage;
  }
}

/** @param {string} path @param {AbortSignal} signal @returns {Promise<any>} */
export const getJson = (path, signal) => ask(path, { signal });

/** @param {string} path @param {unknown} body @param {AbortSignal} signal @returns {Promise<any>} */
export const postJson = (path, body, signal) =>
  ask(path, {
    signal,
    method: "POST",
    headers: { "content-type": "application/json", "x-lab-token": localStorage.getItem("token") ?? "" },
    body: JSON.stringify(body),
  });

/** @param {string} path @param {RequestInit} init */
async function ask(path, init) {
  try {
    const response = await fetch(path, init);
    const answer = await response.json();
    if (response.ok) return answer;
    throw new Refusal(answer, response.status >= 500);
  } catch (error) {
    if (init.signal?.aborted || error instanceof Refusal) throw error;
    const problem = {
      code: "DISCONNECTED",
      message: "the dashboard does not answer",
      hint: "is the lab still running?",
    };
    throw new Refusal(problem, true);
  }
}

/** The problem of any failure, for showing it. @param {unknown} error @returns {{ code: string, message: string, hint?: string, position?: number }} */
export const problemOf = (error) =>
  error instanceof Refusal
    ? error.problem
    : { code: "PAGE_FAILED", message: error instanceof Error ? error.message : String(error) };

/** A hint begins a sentence, unless it begins with a command. @param {{ code: string, message: string, hint?: string }} problem */
export const problemText = ({ code, message, hint }) =>
  `${message} (${code})${hint ? `. ${/^lab /.test(hint) ? hint : `${hint[0]?.toUpperCase()}${hint.slice(1)}`}` : ""}`;
