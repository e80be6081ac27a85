/** The `lab.yaml` of a folder, if there is one. */

import { readFile } from "node:fs/promises";
import { LabError } from "../core/errors.ts";
import type { LabYaml } from "./lab-yaml.ts";

/** Reads a `lab.yaml`; null where there is none. CONFIG_INVALID names file, line, key, value and what is allowed. */
export async function readLabYaml(file: string): Promise<LabYaml | null> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new LabError("CONFIG_INVALID", `${file} cannot be read: ${(error as Error).message}`, {
      hint: "make it readable, or start elsewhere",
      cause: error,
    });
  }
  // Loaded here because what reads YAML takes a while to load, and most folders have no such file.
  const { parseLabYaml } = await import("./lab-yaml.ts");
  return parseLabYaml(text, file);
}
