#!/usr/bin/env node
// Entry point of `lab`: the TypeScript sources in a clone, the compiled dist/ in an image.
import { existsSync } from "node:fs";

const source = new URL("../cli/main.ts", import.meta.url);
if (existsSync(source)) {
  const { register } = await import("tsx/esm/api");
  register();
  await import(source.href);
} else {
  await import(new URL("../dist/cli/main.js", import.meta.url).href);
}
