/** The programs of the lab, for those that start them as processes of their own. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LabError } from "./errors.ts";

/** Path of `bin/NAME.js`, for sources and for `dist/`: `lab`, or `query-child`, which `query/sandbox.ts` talks to. */
export function programPath(name: "lab" | "query-child"): string {
  for (const bin of ["../bin", "../../bin"]) {
    const program = fileURLToPath(new URL(`${bin}/${name}.js`, import.meta.url));
    if (existsSync(program)) return program;
  }
  throw new LabError("INTERNAL", `bin/${name}.js is not beside the program`);
}
