/** Runs `lab` in this process. The one module that does something when it is imported. */

import { runLab } from "./lab.ts";
import { printError } from "./print-error.ts";
import { programName } from "./program-name.ts";
import { createScreen } from "./screen.ts";

const { argv, env, stdin, stdout, stderr } = process;
const words = argv.slice(2);
const program = programName(argv[1], process.cwd(), env);

// `lab query ... | head` closes the pipe early: there is nobody left to tell.
stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
});
process.on("uncaughtException", (error) => {
  const screen = createScreen({ stdout, stderr, env, noColor: words.includes("--no-color") });
  const options = { json: words.includes("--json"), verbose: words.includes("--verbose") };
  process.exit(printError(error, screen, options));
});

process.exitCode = await runLab({ argv: words, env, stdin, stdout, stderr, program });
// A handle that some library left open must not keep a finished command.
setTimeout(() => process.exit(), 500).unref();
