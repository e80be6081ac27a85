import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { LETTER_CODES } from "./codes.ts";

const doc = (name: string) => readFile(new URL(`../docs/${name}.md`, import.meta.url), "utf8");

test("every code of a letter is explained in the documentation, and every one explained there is known", async () => {
  const pages = (await Promise.all(["formats", "letters", "streams"].map(doc))).join("\n");
  for (const code of LETTER_CODES) assert.ok(pages.includes(`\`${code}\``), code);
  const rows = (await doc("formats")).matchAll(
    /^\| (?:decode|schema|constraint|transform|route) \| ([^|]*)\|/gm,
  );
  const explained = [...rows].flatMap(([, codes]) =>
    [...codes!.matchAll(/`([A-Z_]+)`/g)].map(([, one]) => one),
  );
  assert.ok(explained.length > 20);
  for (const code of explained) assert.ok((LETTER_CODES as readonly unknown[]).includes(code), code);
});
