/** How a failure looks: one line what, one line the way out; a stack only for those who ask. */

import { asLabError, type LabError } from "../core/errors.ts";
import type { Screen } from "./screen.ts";
import { shortMessage } from "./short-message.ts";

/**
 * Writes `error: MESSAGE (CODE)` and `  fix: HINT` to stderr, and the end of a service's log where the error carries one. As JSON it is
 * `{code, message, hint}` on one line. Returns the exit status.
 */
export function printError(
  error: unknown,
  screen: Screen,
  options: { json: boolean; verbose: boolean },
): number {
  const problem = asLabError(error);
  if (options.json) {
    screen.note(JSON.stringify(problem));
    return problem.exit;
  }
  const { bold, red, dim } = screen.noteColors;
  const whole = oneLine(problem.message);
  const message = options.verbose ? whole : shortMessage(whole);
  screen.note(`${bold(red("error:"))} ${message} (${problem.code})`);
  if (problem.hint !== undefined) screen.note(`  ${bold("fix:")} ${oneLine(problem.hint)}`);
  if (message !== whole) screen.note(dim("  the whole message: --verbose"));
  for (const line of logLines(problem)) screen.note(dim(`  log: ${line}`));
  if (options.verbose) screen.note(dim(stacks(problem)));
  else if (problem.code === "INTERNAL")
    screen.note("  this is a bug in the lab: run it again with --verbose and report it");
  return problem.exit;
}

function oneLine(text: string): string {
  return text.trim().replace(/\s*\n\s*/g, " ");
}

function logLines(problem: LabError): string[] {
  const { log } = problem.details;
  return Array.isArray(log) ? log.map(String) : [];
}

function stacks(problem: LabError): string {
  const lines = [problem.stack ?? ""];
  for (let cause: unknown = problem.cause; cause instanceof Error; cause = cause.cause) {
    lines.push(`caused by ${cause.stack}`);
  }
  return lines.join("\n");
}
