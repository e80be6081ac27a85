import assert from "node:assert/strict";
import { test } from "node:test";
import { LabError } from "../core/errors.ts";
import { printError } from "./print-error.ts";
import type { Screen } from "./screen.ts";
import { shortMessage } from "./short-message.ts";

const candidates = Array.from({ length: 40 }, (_, n) => `+(TYPE${n}, TYPE${n}) -> TYPE${n}`).join(" ");
const struct = `STRUCT(topic VARCHAR, "partition" INTEGER, inner STRUCT(a DECIMAL(18,2), b MAP(VARCHAR, BIGINT))[], more VARCHAR, generation INTEGER)`;
const advice = "You might need to add explicit type casts";

test("a short message stays, and of a long one what happened and where it did", () => {
  const short = `Referenced column "a" not found at line 1, column 8`;
  assert.equal(shortMessage(short), short);
  assert.equal(
    shortMessage(
      `No function matches '+(${struct}, INTEGER_LITERAL)'. ${advice}. Candidate functions: ${candidates} at line 3, column 12`,
    ),
    `No function matches '+(STRUCT(...), INTEGER_LITERAL)'. ${advice} at line 3, column 12`,
  );
  assert.equal(
    shortMessage(
      `Unimplemented type for cast (${struct} -> ${struct}) when casting from source column x at line 1, column 8`,
    ),
    "Unimplemented type for cast (STRUCT(...) -> STRUCT(...)) when casting from source column x at line 1, column 8",
  );
  const words = shortMessage(`${"word ".repeat(100)}end at line 9, column 9`);
  assert.match(words, /^(word )+\.\.\. at line 9, column 9$/);
  assert.ok(words.length <= 250, String(words.length));
  assert.ok(shortMessage("x".repeat(9_000)).length <= 250);
  // Parentheses that never close are no reason to lose what stands before them.
  assert.match(shortMessage(`before STRUCT(${"a INTEGER, ".repeat(60)}`), /^before STRUCT\(\.\.\.\)$/);
});

test("the whole message is there for whoever asks for it", () => {
  const message = `No function matches. ${advice}. Candidate functions: ${candidates} at line 1, column 1`;
  const print = (options: { json: boolean; verbose: boolean }) => {
    let printed = "";
    const plain = (text: string) => text;
    const screen = {
      note: (line: string) => {
        printed += `${line}\n`;
      },
      noteColors: { bold: plain, red: plain, dim: plain },
    } as unknown as Screen;
    assert.equal(printError(new LabError("SQL_ERROR", message), screen, options), 1);
    return printed;
  };
  assert.equal(
    print({ json: false, verbose: false }),
    `error: No function matches. ${advice} at line 1, column 1 (SQL_ERROR)\n  the whole message: --verbose\n`,
  );
  assert.ok(print({ json: false, verbose: true }).startsWith(`error: ${message} (SQL_ERROR)\n`));
  assert.equal(JSON.parse(print({ json: true, verbose: false })).message, message);
});
