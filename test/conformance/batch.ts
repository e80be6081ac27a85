/** `lab batch` as a process: the public command line that the suite asks. */

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** `rows` and the fields of `snapshot` where `ok`. */
export type Answer = {
  ok: boolean;
  code?: string;
  message?: string;
  rows?: string[];
  [field: string]: unknown;
};

export type Batch = {
  /** Throws where the process ends or gives no answer in time: nothing of that kind may happen. */
  ask(request: Record<string, unknown>): Promise<Answer>;
  close(): Promise<void>;
};

const TIMEOUT_MS = 60_000;

export function startBatch(): Batch {
  const lab = fileURLToPath(new URL("../../bin/lab.js", import.meta.url));
  const child = spawn(process.execPath, [lab, "batch"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  child.stdin.on("error", () => {});
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(request) {
      child.stdin.write(`${JSON.stringify(request)}\n`);
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          child.kill("SIGKILL");
          reject(new Error(`no answer in ${TIMEOUT_MS} ms to ${JSON.stringify(request)}`));
        }, TIMEOUT_MS);
      });
      try {
        const { value, done } = await Promise.race([answers.next(), late]);
        if (done) throw new Error(`lab batch ended at ${JSON.stringify(request)}`);
        return JSON.parse(value) as Answer;
      } finally {
        clearTimeout(timer);
      }
    },
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}

/** The digest of rows that the truth holds: of a multiset, whatever its order. */
export function digestOf(rows: readonly string[]): string {
  return sha256(rows.map(sha256).sort().join("\n"));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
