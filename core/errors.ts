/** Every failure a user can meet: its code, what it means, and the exit status it ends a command with. */

type Entry = {
  /** Exit status of a command that ends with this error (contracts.md, "Command line"). */
  exit: 1 | 2 | 3;
  /** True for an outage: the same attempt may succeed later, unchanged. */
  retryable: boolean;
  meaning: string;
};

const failed = (meaning: string): Entry => ({ exit: 1, retryable: false, meaning });
const outage = (meaning: string): Entry => ({ exit: 1, retryable: true, meaning });
const usage = (meaning: string): Entry => ({ exit: 2, retryable: false, meaning });

export const ERRORS = {
  // command line, configuration, machine
  USAGE: usage("A command, option or argument is wrong."),
  CONFIG_INVALID: usage("lab.yaml or a setting has a wrong key or value."),
  PORT_TAKEN: failed("A port that is needed is in use."),
  LAB_RUNNING: failed("Another lab already runs on this data folder."),
  SERVICE_UNAVAILABLE: failed("No rung of the ladder that brings up a service holds."),
  SERVICE_FAILED: failed("A service was started and did not become ready."),
  SOURCE_UNREADABLE: usage("The file to produce from cannot be read."),
  INTERNAL: failed("A bug, or an invariant that does not hold."),
  // Kafka
  BROKER_UNREACHABLE: outage("No broker answers at the address."),
  TOPIC_MISSING: usage("The topic does not exist."),
  KAFKA_DENIED: usage("The broker refuses the credentials or the rights."),
  KAFKA_TLS: usage("The connection to the broker cannot be made safe, or is not trusted."),
  TOKEN_UNREACHABLE: outage("The endpoint that gives tokens for Kafka does not answer."),
  CODEC_UNSUPPORTED: failed("A batch is compressed in a way that cannot be read here."),
  KAFKA_PROTOCOL: failed("The broker answered something that does not fit the protocol."),
  MESSAGE_TOO_LARGE: failed("A message is larger than the broker accepts."),
  PRODUCER_FENCED: failed("Another producer writes under the same transactional id since."),
  TRANSACTION_LOST: outage("The broker no longer knows of the transaction under way."),
  // schema registry
  REGISTRY_UNREACHABLE: outage("The schema registry does not answer."),
  REGISTRY_DENIED: usage("The schema registry refuses the credentials or the rights."),
  SCHEMA_NOT_FOUND: usage("The schema registry or folder has no such schema."),
  SCHEMA_INVALID: usage("A schema cannot be read, or has no form as a table."),
  // stores
  STORE_UNREACHABLE: outage("The object store or disk does not answer."),
  STORE_DENIED: usage("The store refuses the credentials or the rights."),
  STORE_FULL: outage("The disk or bucket is full."),
  CREDENTIALS_MISSING: usage("No credentials for the object store were found."),
  BUCKET_MISSING: usage("The bucket does not exist."),
  STORE_NOT_ATOMIC: usage("The store lets two writers create one object: no commit is safe on it."),
  OBJECT_MISSING: failed("An object that is needed does not exist."),
  PATH_REFUSED: usage("A path leads outside the store."),
  // Delta
  NOT_A_TABLE: usage("The folder holds no Delta table."),
  TABLE_EXISTS: usage("There is a table already."),
  VERSION_NOT_FOUND: usage("The table has no such version."),
  TIMESTAMP_NOT_FOUND: usage("The table has no version as old as that time."),
  UNSUPPORTED_FEATURE: failed("The table needs a feature that is not supported here."),
  CORRUPT_LOG: failed("The table's log is damaged, or a file that it names."),
  DATA_FILE_MISSING: failed("A data file that the log names does not exist."),
  COMMIT_CONFLICT: failed("Another writer's commit contradicts this one."),
  SCHEMA_MISMATCH: failed("Rows or a change do not fit the table's schema."),
  CONSTRAINT_VIOLATED: failed("A row violates a constraint of the table."),
  APPEND_ONLY: failed("The table allows appends only."),
  RETENTION_TOO_SHORT: usage("A vacuum would delete files that writers or readers may still use."),
  // ingest
  OFFSET_EXPIRED: failed("The stored position is below what the topic still holds."),
  OFFSETS_MISSING: failed("The table holds rows of a partition but no position for it."),
  OFFSETS_FOREIGN: usage(
    "The table keeps positions in another form than was asked for, or of another topic.",
  ),
  TOPIC_RESET: failed("The topic was made anew: the stored position belongs to another topic."),
  BAD_RECORD: failed("A record cannot be written and the stream is set to stop."),
  TRANSFORM_REFUSED: usage("The transform is not row-local SQL over `messages`."),
  TOO_MANY_BAD: failed(
    "Too many of the last records are bad: the stream stops before it writes letters without end.",
  ),
  NO_PROGRESS: failed("There is lag and no progress."),
  LETTER_NOT_FOUND: usage("There is no dead letter at that place."),
  // replay
  TARGET_UNFIT: usage("The topic would not keep what a replay sends to it, or holds records already."),
  REPLAY_UNDERWAY: usage("Another replay of the table into this topic has begun and is not done."),
  REPLAY_DIFFERS: failed("A topic does not hold the records that a replay sent to it."),
  ORIGIN_MISSING: usage("The rows do not say where in Kafka they come from."),
  TABLE_REWRITTEN: failed("A version took rows out or changed them, which a stream of rows cannot tell."),
  VERSION_EXPIRED: failed("The log no longer holds a version that a reader has yet to read."),
  // query
  SQL_ERROR: failed("The SQL statement is wrong."),
  SQL_REFUSED: usage("The statement may not be run here."),
  TABLE_NOT_FOUND: usage("There is no such table in the store."),
  QUERY_LIMIT: failed("The query ran into a limit of time, memory or rows."),
  // audit
  WEBHOOK_FAILED: outage("Whoever is to be told of alerts did not take one."),
  // dashboard
  REQUEST_INVALID: usage("The HTTP request has a wrong path, method, parameter or body."),
  REQUEST_REFUSED: usage("The HTTP request comes from another host or origin, or lacks the token."),
} satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof ERRORS;

/**
 * An error a user can act on: a code of the table, one line of what happened with the values at fault, and
 * the way out. Callers branch on `code`, never on the text.
 */
export class LabError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { hint?: string; details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "LabError";
    this.code = code;
    this.hint = options.hint;
    this.details = options.details ?? {};
  }

  get exit(): number {
    return ERRORS[this.code].exit;
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }

  toJSON(): { code: ErrorCode; message: string; hint?: string } {
    return {
      code: this.code,
      message: this.message,
      ...(this.hint === undefined ? {} : { hint: this.hint }),
    };
  }
}

/** True when `error` is a LabError, with one of `codes` if any are given. */
export function isLabError(error: unknown, ...codes: ErrorCode[]): error is LabError {
  return error instanceof LabError && (codes.length === 0 || codes.includes(error.code));
}

/** Any thrown value as a LabError; what is not one already is a bug and becomes INTERNAL. Never throws. */
export function asLabError(error: unknown): LabError {
  if (error instanceof LabError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new LabError("INTERNAL", message || "unknown failure", { cause: error });
}
