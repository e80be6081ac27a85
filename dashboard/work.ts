/** What the page can have done to a table: letters looked at, replayed and dropped, files joined and cleared, versions brought back. */

/** One letter by its place in Kafka, as PARTITION:OFFSET. */
export type LetterPlace = string;

/** `step` says what is done, and of what there are `total`, where that is known. */
export type Progress = { step: string; done: number; total: number | null };

/** What runs or ran, for all pages to see. */
export type Job = {
  id: number;
  table: string;
  what: string;
  startedAt: string;
  endedAt: string | null;
  /** How far it is; null before it said so. */
  progress: Progress | null;
  result: unknown;
  problem: { code: string; message: string; hint?: string } | null;
};

export type Chore =
  | { kind: "optimize" }
  | { kind: "vacuum"; dryRun: boolean }
  | { kind: "restore"; version: number }
  | { kind: "replay" | "drop"; topic: string; letters: readonly LetterPlace[]; dryRun: boolean };

export type WorkControl = {
  /** Documents as `lab dlq list --json` prints them. */
  letters(
    table: string,
    asked: { states: readonly string[]; limit: number },
    signal: AbortSignal,
  ): Promise<unknown>;
  /** The letters of one place with their bytes, in base64. */
  letter(table: string, topic: string, place: LetterPlace, signal: AbortSignal): Promise<unknown>;
  /** Does a chore to its end; `told` hears how far it is. Resolves with the document that the command prints. */
  perform(
    table: string,
    chore: Chore,
    told: (progress: Progress) => void,
    signal: AbortSignal,
  ): Promise<unknown>;
};
