/** What an S3 server, or the network on the way to it, says, in the store's words. Knows the wire names, not the client. */

import { asLabError, type ErrorCode, LabError } from "../../core/errors.ts";

export type S3Place = {
  bucket: string;
  /** Key of the object, or prefix of a listing. */
  key: string;
  /** What the user gave; undefined: Amazon's own. */
  endpoint: string | undefined;
  /** The request asked the server to create only what is not there. */
  isConditional?: boolean;
  /** There were credentials before: none now is an outage of whoever gives them. */
  hadCredentials?: boolean;
};

type Kind = { code: ErrorCode; says: string; hint: string };

const MISSING: Kind = { code: "OBJECT_MISSING", says: "does not exist", hint: "check the path" };
const NO_BUCKET: Kind = {
  code: "BUCKET_MISSING",
  says: "the bucket does not exist",
  hint: "create it (`aws s3 mb`, `mc mb`), or give another with --store",
};
const DENIED: Kind = {
  code: "STORE_DENIED",
  says: "the server refuses the credentials or the rights",
  hint: "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they may do in this bucket",
};
const SKEWED: Kind = { ...DENIED, says: "the server refuses this machine's clock", hint: "set the clock" };
const REGION: Kind = {
  ...DENIED,
  says: "the bucket is in another region",
  hint: "set AWS_REGION to the bucket's region",
};
const NO_CREDENTIALS: Kind = {
  code: "CREDENTIALS_MISSING",
  says: "no credentials were found",
  hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in ~/.aws/credentials",
};
const FULL: Kind = {
  code: "STORE_FULL",
  says: "the server has no room",
  hint: "free some space, or raise the quota",
};
const BAD_KEY: Kind = {
  code: "PATH_REFUSED",
  says: "the server takes no such key",
  hint: "use a shorter name",
};
const NOT_ATOMIC: Kind = {
  code: "STORE_NOT_ATOMIC",
  says: "the server does not know conditional puts (If-None-Match)",
  hint: "use a server that does, such as MinIO or Amazon S3",
};
const REFUSED: Kind = {
  code: "STORE_DENIED",
  says: "the server refuses the request",
  hint: "see the server's log",
};
const OUTAGE: Kind = {
  code: "STORE_UNREACHABLE",
  says: "the server does not answer as it should",
  hint: "it is worth another try; check that the server is well",
};
const NO_ANSWER: Kind = {
  code: "STORE_UNREACHABLE",
  says: "no server answers",
  hint: "check AWS_ENDPOINT_URL and that the server runs (`lab up --only s3` starts one)",
};

const NOT_RENEWED: Kind = {
  code: "STORE_UNREACHABLE",
  says: "the credentials have run out and could not be renewed",
  hint: "check the role, token file or service they come from; it is tried again",
};

const BY_NAME: Record<string, Kind> = {
  NoSuchKey: MISSING,
  NotFound: MISSING,
  NoSuchBucket: NO_BUCKET,
  InvalidBucketName: NO_BUCKET,
  AccessDenied: DENIED,
  InvalidAccessKeyId: DENIED,
  SignatureDoesNotMatch: DENIED,
  ExpiredToken: DENIED,
  InvalidToken: DENIED,
  RequestTimeTooSkewed: SKEWED,
  PermanentRedirect: REGION,
  AuthorizationHeaderMalformed: REGION,
  CredentialsProviderError: NO_CREDENTIALS,
  TokenProviderError: NO_CREDENTIALS,
  XMinioStorageFull: FULL,
  XMinioAdminBucketQuotaExceeded: FULL,
  QuotaExceeded: FULL,
  KeyTooLongError: BAD_KEY,
  XMinioInvalidObjectName: BAD_KEY,
  RequestTimeout: OUTAGE,
};

const BY_STATUS: Record<number, Kind> = {
  301: REGION,
  401: DENIED,
  403: DENIED,
  404: MISSING,
  408: OUTAGE,
  409: OUTAGE,
  412: OUTAGE,
  416: REFUSED,
  429: OUTAGE,
  507: FULL,
};

/** What a client's failure carries, whichever library or system call made it. */
type Failure = {
  name?: string;
  code?: string;
  message?: string;
  $metadata?: { httpStatusCode?: number; requestId?: string };
};

/** Any thrown value as a LabError of the store's contract. Never throws. A bug in the code stays a bug: INTERNAL. */
export function s3Error(error: unknown, place: S3Place): LabError {
  if (error instanceof LabError) return error;
  const failure = failureIn(error);
  const kind = kindOf(failure, place);
  if (!kind) return asLabError(error);
  const status = failure.$metadata?.httpStatusCode;
  const reason = status === undefined ? (failure.code ?? failure.name) : `${failure.name}, HTTP ${status}`;
  const where = place.endpoint === undefined ? "" : ` at ${place.endpoint}`;
  const uri = `s3://${place.bucket}${place.key === "" ? "" : `/${place.key}`}`;
  return new LabError(kind.code, `${uri}${where}: ${kind.says} (${reason})`, {
    hint: kind.hint,
    details: { bucket: place.bucket, key: place.key, status, requestId: failure.$metadata?.requestId },
    cause: error,
  });
}

/**
 * What the failure of a conditional put means: `exists` when the server says another object is there, `refused` when it is certain
 * that nothing was stored and nothing will be, `unclear` for all else. A 409 says that somebody else was at work on the key, not
 * what came of it.
 */
export function putIfAbsentFailure(error: unknown, place: S3Place): "exists" | "unclear" | "refused" {
  const failure = failureIn(error);
  if (failure.$metadata?.httpStatusCode === 412) return "exists";
  return kindOf(failure, place)?.code === "STORE_UNREACHABLE" ? "unclear" : "refused";
}

/** True for the answer to a range that begins beyond the end of an object. */
export function isBeyondEnd(error: unknown): boolean {
  return failureIn(error).$metadata?.httpStatusCode === 416;
}

/** Anything may be thrown; only what an Error says about itself is used. */
function failureIn(error: unknown): Failure {
  return error instanceof Error ? error : {};
}

function kindOf({ name = "", code, $metadata }: Failure, place: S3Place): Kind | undefined {
  const status = $metadata?.httpStatusCode;
  const named = Object.hasOwn(BY_NAME, name) ? BY_NAME[name] : undefined;
  if (named === NO_CREDENTIALS && place.hadCredentials) return NOT_RENEWED;
  if (named) return named;
  if (status === 501) return place.isConditional ? NOT_ATOMIC : REFUSED;
  if (status !== undefined) return BY_STATUS[status] ?? (status >= 400 && status < 500 ? REFUSED : OUTAGE);
  const isOurBug = ["TypeError", "RangeError", "ReferenceError"].includes(name) && code === undefined;
  return isOurBug ? undefined : NO_ANSWER;
}
