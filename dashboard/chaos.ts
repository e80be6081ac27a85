/** What can be broken on purpose: each fault with what should happen, and the port through which it is caused. */

export const FAULT_NAMES = [
  "kill-before-upload",
  "kill-after-upload",
  "kill-after-commit",
  "freeze",
  "stop-broker",
  "cut-s3",
  "poison",
  "second-worker",
  "burst",
  "change-schema",
  "reset",
] as const;

export type FaultName = (typeof FAULT_NAMES)[number];

export type Fault = {
  name: FaultName;
  title: string;
  /** What will happen, told before it does. */
  should: string;
  /** How long it lasts unless it is healed before; null: it happens and is over. */
  seconds: number | null;
};

export const FAULTS: readonly Fault[] = [
  {
    name: "kill-before-upload",
    title: "Kill before upload",
    should:
      "The ingester dies with a batch in memory: nothing of it reached the store. The next one reads it again.",
    seconds: null,
  },
  {
    name: "kill-after-upload",
    title: "Kill after upload",
    should:
      "The files of a batch are in the store, and no version names them. The next ingester reads it again; the files stay as orphans until a vacuum.",
    seconds: null,
  },
  {
    name: "kill-after-commit",
    title: "Kill after commit",
    should:
      "A version is there, the group's offsets are not written. The next ingester asks the table's log: nothing is read twice.",
    seconds: null,
  },
  {
    name: "freeze",
    title: "Freeze the ingester",
    should:
      "SIGSTOP for 20 seconds: lag grows. The group expels it; whatever it commits late must lose the race.",
    seconds: 20,
  },
  {
    name: "stop-broker",
    title: "Stop the broker",
    should:
      "Kafka is down for 10 seconds: producers wait, the ingester pauses, and both go on by themselves.",
    seconds: 10,
  },
  {
    name: "cut-s3",
    title: "Cut the store",
    should:
      "The ingester cannot reach S3 for 15 seconds: it pauses, keeps what it has, and goes on by itself.",
    seconds: 15,
  },
  {
    name: "poison",
    title: "Send poison",
    should: "Five messages that are no valid records become dead letters; the good ones around them pass.",
    seconds: null,
  },
  {
    name: "second-worker",
    title: "Start a second worker",
    should:
      "For 30 seconds the partitions are shared with another ingester, and come back when it leaves. No row is there twice.",
    seconds: 30,
  },
  {
    name: "burst",
    title: "Burst of 100,000",
    should: "100,000 messages as fast as the broker takes them: lag rises, and falls to nothing.",
    seconds: null,
  },
  {
    name: "change-schema",
    title: "Change the schema",
    should: "Three messages with a field that the table does not know: one new version adds the column.",
    seconds: null,
  },
  {
    name: "reset",
    title: "Reset",
    should: "Deletes topics and tables, and starts anew. What is there now is gone.",
    seconds: null,
  },
];

/** What a fault is aimed at. */
export type Target = {
  topic: string;
  table: string;
  /** Name of the ingester's part; null where none is known. */
  ingester: string | null;
};

/** What was done at once, in words that name pids and offsets. */
export type Caused = { did: string[] };

export type ChaosControl = {
  /** For each fault why it cannot be caused here; null where it can. Never rejects. */
  refusals(target: Target, signal: AbortSignal): Promise<Record<FaultName, string | null>>;
  /** Rejects where it was refused: then nothing is broken. */
  cause(name: FaultName, target: Target, signal: AbortSignal): Promise<Caused>;
  /** Ends what lasts: thaws, mends, lets go. */
  heal(signal: AbortSignal): Promise<void>;
};
