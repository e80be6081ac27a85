/** `audit.yaml`: whose messages a topic has to hold before a day of it can be complete. */

import { readFile } from "node:fs/promises";
import { LabError } from "../core/errors.ts";

/** Origins by topic; none where there is no such file and it was not asked for. CONFIG_INVALID names the file and what is wrong in it. */
export async function readExpected(
  asked: string | undefined,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const file = asked ?? "audit.yaml";
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if (asked === undefined && (error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw new LabError("CONFIG_INVALID", `${file} cannot be read: ${(error as Error).message}`, {
      hint: "name a file that lists the origins of each topic: topics: { orders: [shop, web] }",
      details: { file },
      cause: error,
    });
  }
  const { parse } = await import("yaml");
  const { z } = await import("zod");
  const Expected = z.strictObject({ topics: z.record(z.string(), z.array(z.string().min(1))) });
  let read: unknown;
  try {
    read = parse(text);
  } catch (error) {
    throw new LabError("CONFIG_INVALID", `${file} is no YAML: ${(error as Error).message}`, {
      hint: "write it as: topics: { orders: [shop, web] }",
      details: { file },
      cause: error,
    });
  }
  const checked = Expected.safeParse(read);
  if (checked.success) return new Map(Object.entries(checked.data.topics));
  const [issue] = checked.error.issues;
  throw new LabError("CONFIG_INVALID", `${file}: ${issue?.path.join(".") || "the file"}: ${issue?.message}`, {
    hint: "write it as: topics: { orders: [shop, web] }",
    details: { file, at: issue?.path.join(".") ?? "" },
  });
}
