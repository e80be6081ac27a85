import assert from "node:assert/strict";
import { test } from "node:test";
import { LabError } from "../core/errors.ts";
import { openLog } from "./open-log.ts";
import { createScreen } from "./screen.ts";

test("at a terminal every command's warnings are sentences, below the bar that stood there, and nothing else is told", async () => {
  const written: string[] = [];
  const stream = { write: (piece: string) => written.push(piece) > 0, isTTY: true };
  const screen = createScreen({ stdout: stream, stderr: stream, env: {}, noColor: true });
  const log = await openLog("replay", { screen, common: { verbose: false, json: false } });
  log.info({ port: 1 }, "serving");
  log.warn({ event: "outage" }, "outage, trying again: the broker is away");
  const error = new LabError("STORE_UNREACHABLE", "no answer", { hint: "is it running?" });
  log.warn({ event: "audit-look", err: error }, "looking at the audit failed");
  assert.equal(
    written.join(""),
    [
      "\r\u001b[2Kwarning: outage, trying again: the broker is away\n",
      "\r\u001b[2Kwarning: looking at the audit failed: no answer\n",
      "  fix: is it running?\n",
    ].join(""),
  );
});
