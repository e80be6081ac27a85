/** The program of this process, for those that it starts. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LabError } from "../core/errors.ts";

/** Path of `bin/lab.js`, from the sources and from `dist/`. */
export function labProgram(): string {
  for (const path of ["../bin/lab.js", "../../bin/lab.js"]) {
    const program = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(program)) return program;
  }
  throw new LabError("INTERNAL", "bin/lab.js is not beside the program");
}
