/** What a user types to start this program, so that a hint can be copied: `lab`, `npx lab`, or `node bin/lab.js` in a clone. */

import { basename, isAbsolute, relative } from "node:path";

/** `script` is the path that Node runs (`process.argv[1]`), `cwd` where the user stands. */
export function programName(
  script: string | undefined,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  if (script === undefined) return "lab";
  if (env.npm_command === "exec") return "npx lab";
  if (basename(script) === "lab") return "lab";
  const short = relative(cwd, script);
  const isNear = short !== "" && !short.startsWith("..") && !isAbsolute(short);
  const path = isNear ? short : script;
  return `node ${/\s/.test(path) ? `"${path}"` : path}`;
}

/** `text` with each `lab COMMAND` in it as the user would type it; `commands` are the names that count as one. */
export function asTyped(text: string, program: string, commands: readonly string[]): string {
  if (program === "lab") return text;
  const names = [...commands, "help", "COMMAND", "\\[", "--"].join("|");
  return text.replace(
    new RegExp(`(^|[\\s\`'"(:])lab (?=(?:${names}))`, "gm"),
    (_, before) => `${before}${program} `,
  );
}
