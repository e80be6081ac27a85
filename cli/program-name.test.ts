import assert from "node:assert/strict";
import { test } from "node:test";
import { COMMANDS } from "./commands.ts";
import { asTyped, programName } from "./program-name.ts";

test("the program is named as the user can type it where he stands", () => {
  assert.equal(programName("/usr/local/bin/lab", "/home/me", {}), "lab");
  assert.equal(programName("/home/me/lab/bin/lab.js", "/home/me/lab", {}), "node bin/lab.js");
  assert.equal(programName("/home/me/lab/bin/lab.js", "/home/me", {}), "node lab/bin/lab.js");
  assert.equal(programName("/opt/lab/bin/lab.js", "/home/me", {}), "node /opt/lab/bin/lab.js");
  assert.equal(programName("/opt/my lab/bin/lab.js", "/home/me", {}), 'node "/opt/my lab/bin/lab.js"');
  assert.equal(programName("/x/node_modules/.bin/lab", "/x", { npm_command: "exec" }), "npx lab");
  assert.equal(programName(undefined, "/", {}), "lab");
});

test("a hint's commands are written so, and nothing else of it is touched", () => {
  const typed = (text: string) => asTyped(text, "node bin/lab.js", Object.keys(COMMANDS));
  assert.equal(typed("start one with: lab up"), "start one with: node bin/lab.js up");
  assert.equal(
    typed("`lab help COMMAND` or lab query"),
    "`node bin/lab.js help COMMAND` or node bin/lab.js query",
  );
  for (const text of [
    "the lab stops",
    "another lab already runs",
    "./lab.yaml",
    "lab-data",
    "a slab up there",
  ])
    assert.equal(typed(text), text);
  assert.equal(asTyped("lab up", "lab", ["up"]), "lab up");
});
