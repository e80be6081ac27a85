/** Asking the server. A failure always has a code, a message and, where there is one, a way out. */

export class Refusal extends Error {
  /** @param {{ code: string, message: string, hint?: string, position?: number }} problem */
  constructor(problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** @param {string} path @param {AbortSignal} signal @returns {Promise<any>} */
export const getJson = (path, signal) => ask(path, { signal });

/** @param {string} path @param {unknown} body @param {AbortSignal} signal @returns {Promise<any>} */
export const postJson = (path, body, signal) =>
  ask(path, {
    signal,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** @param {string} path @param {RequestInit} init */
async function ask(path, init) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Refusal({
      code: "DISCONNECTED",
      message: "the dashboard does not answer",
      hint: "is the lab still running?",
    });
  }
  const isJson = response.headers.get("content-type")?.startsWith("application/json");
  if (response.ok && isJson) return response.json();
  if (isJson) throw new Refusal(await response.json());
  throw new Refusal({ code: `HTTP_${response.status}`, message: "the answer is not one of the dashboard" });
}

/** The problem of any failure, for showing it. @param {unknown} error @returns {{ code: string, message: string, hint?: string, position?: number }} */
export const problemOf = (error) =>
  error instanceof Refusal
    ? error.problem
    : { code: "PAGE_FAILED", message: error instanceof Error ? error.message : String(error) };

/** @param {{ code: string, message: string, hint?: string }} problem */
export const problemText = ({ code, message, hint }) =>
  `${message} (${code})${hint ? `. ${hint[0]?.toUpperCase()}${hint.slice(1)}` : ""}`;
