/** What a check of a table found, and what to do about it. */

export type Problem =
  /** A file that the log names is not there. */
  | "missing"
  /** A file is not as long as the log says. */
  | "size"
  /** A file, or a version, cannot be read. */
  | "unreadable"
  /** A file has not as many rows as the log says. */
  | "rows"
  /** Statistics do not hold what is in a file. */
  | "statistics"
  /** A deletion vector is damaged or does not fit its file. */
  | "deletion-vector"
  /** A commit is missing or cannot be read. */
  | "commit"
  /** A checkpoint cannot be read, or holds another state than the commits. */
  | "checkpoint"
  /** A checksum file holds another state than the commits. */
  | "checksum"
  /** In-commit timestamps are missing or do not increase. */
  | "time"
  /** A Kafka record stands in more than one row. */
  | "duplicate";

export type Finding = {
  /** Path in the table, as a store knows it. */
  file: string;
  problem: Problem;
  message: string;
  /** The way out. */
  hint: string;
};

export type Findings = {
  add(finding: Finding): void;
  /** All that were found; only the first ones are kept. */
  count(): number;
  listed(): readonly Finding[];
};

/** Keeps `most` findings and counts the rest: a table may have lost a million files. */
export function findings(most: number): Findings {
  const listed: Finding[] = [];
  let count = 0;
  return {
    add(finding) {
      count++;
      if (listed.length < most) listed.push(finding);
    },
    count: () => count,
    listed: () => listed,
  };
}
