/** What the runs of `bench ingest` come to: by program, and ours by each peer, round by round. Pure. */

import { CLONE, COMPILED } from "./contender.ts";
import type { IngestBenchResult, IngestRun } from "./ingest.ts";
import { type Spread, spread } from "./spread.ts";

export type ProgramFigures = {
  by: string;
  rowsPerSecond: Spread;
  /** Raw value bytes, in millions. */
  megabytesPerSecond: Spread;
  cpuSecondsPerMillion: Spread;
  peakMegabytes: Spread;
  bytesWritten: Spread;
  /** Bytes written by raw value bytes. */
  writtenShare: Spread;
  files: Spread;
  /** Of starting alone; null for peers. */
  start: { seconds: Spread; cpuSeconds: Spread } | null;
};

/** How many times as good ours is as a peer of the same round: more is better throughout. */
export type Ratio = { ours: string; peer: string; cpu: Spread; rows: Spread; memory: Spread };

export function ingestSummary(result: Omit<IngestBenchResult, "versions">): {
  programs: ProgramFigures[];
  ratios: Ratio[];
} {
  const names = [...new Set(result.runs.map(({ by }) => by))];
  const of = (name: string) => result.runs.filter(({ by }) => by === name);
  const isOurs = (name: string) => name === CLONE || name === COMPILED;
  const programs = names.map((by): ProgramFigures => {
    const runs = of(by);
    const over = (figure: (run: IngestRun) => number) => spread(runs.map(figure));
    const starts = result.starts.filter((one) => one.by === by);
    return {
      by,
      rowsPerSecond: over(({ seconds }) => Math.round(result.messages / seconds)),
      megabytesPerSecond: over(({ seconds }) => result.bytes / 1e6 / seconds),
      cpuSecondsPerMillion: over(({ cpuSeconds }) => (cpuSeconds / result.messages) * 1e6),
      peakMegabytes: over(({ peakBytes }) => Math.round(peakBytes / 1e6)),
      bytesWritten: over(({ bytesWritten }) => bytesWritten),
      writtenShare: over(({ bytesWritten }) => bytesWritten / result.bytes),
      files: over(({ files }) => files),
      start:
        starts.length === 0
          ? null
          : {
              seconds: spread(starts.map(({ seconds }) => seconds)),
              cpuSeconds: spread(starts.map(({ cpuSeconds }) => cpuSeconds)),
            },
    };
  });
  const ratios = names.filter(isOurs).flatMap((ours) =>
    names
      .filter((name) => !isOurs(name))
      .map((peer): Ratio => {
        const pairs = of(ours).flatMap((mine) => {
          const theirs = of(peer).find(({ round }) => round === mine.round);
          return theirs === undefined ? [] : [{ mine, theirs }];
        });
        return {
          ...{ ours, peer },
          cpu: spread(pairs.map(({ mine, theirs }) => theirs.cpuSeconds / mine.cpuSeconds)),
          rows: spread(pairs.map(({ mine, theirs }) => theirs.seconds / mine.seconds)),
          memory: spread(pairs.map(({ mine, theirs }) => theirs.peakBytes / mine.peakBytes)),
        };
      }),
  );
  return { programs, ratios };
}
