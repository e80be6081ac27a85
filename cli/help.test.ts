import assert from "node:assert/strict";
import { test } from "node:test";
import { loadAll } from "./commands.ts";
import { commandHelp, overview } from "./help.ts";
import { createScreen } from "./screen.ts";

function screenOf(columns: number) {
  const stream = { isTTY: true, columns, rows: 24, write: () => true };
  return createScreen({ stdout: stream, stderr: stream, env: {}, noColor: true });
}

test("help fits a terminal of 60 columns: only commands that one copies are longer, and words that cannot be parted", async () => {
  const commands = await loadAll();
  const screen = screenOf(60);
  const shown = [overview(commands, screen), ...commands.map((command) => commandHelp(command, screen))];
  const isCopied = (line: string) => /\blab |^ *\S+$|^ {2}--?\S+ <\S+>$/.test(line);
  const lines = shown.flatMap((text) => text.split("\n"));
  const wide = lines.filter((line) => line.length > 60 && !isCopied(line));
  assert.deepEqual(wide, []);
});
