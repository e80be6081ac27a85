/** Progress of work in several steps: a bar for each, one after the other. */

import { type Progress, progress } from "./progress.ts";
import type { Screen } from "./screen.ts";

export type Phases = {
  onProgress(step: string, done: number, total: number | null): void;
  end(): void;
};

export function phases(screen: Screen): Phases {
  let current: { step: string; total: number | null; bar: Progress } | undefined;
  return {
    onProgress(step, done, total) {
      if (current?.step !== step || current.total !== total) {
        current?.bar.end();
        current = { step, total, bar: progress(screen, step, total) };
      }
      current.bar.update(done);
    },
    end: () => current?.bar.end(),
  };
}
