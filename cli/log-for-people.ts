/** The log of a process for someone who looks at its terminal: a sentence a line instead of JSON. */

import type { DestinationStream } from "pino";
import type { Screen } from "./screen.ts";

/** `clear` takes away what is drawn in place before a line is written. */
export function logForPeople(
  { note, noteColors }: Pick<Screen, "note" | "noteColors">,
  clear: () => void,
): DestinationStream {
  const { yellow, red, bold } = noteColors;
  return {
    write(line) {
      const {
        level,
        msg,
        topic,
        codes,
        err,
        hint = err?.hint,
      } = JSON.parse(line) as {
        level: number;
        msg: string;
        topic?: string;
        codes?: Record<string, number>;
        err?: { message: string; hint?: string };
        hint?: string;
      };
      const why = Object.entries(codes ?? {}).map(([code, many]) => `${code} ${many.toLocaleString("en")}`);
      clear();
      const sign = level >= 50 ? red("error:") : level >= 40 ? yellow("warning:") : "";
      const told = [
        topic === undefined ? "" : `${topic}: `,
        msg,
        err === undefined ? "" : `: ${err.message}`,
        why.length > 0 ? ` (${why.join(", ")})` : "",
      ];
      note(`${bold(sign)} ${told.join("")}`.trimStart());
      if (hint !== undefined) note(`  ${bold("fix:")} ${hint}`);
    },
  };
}
