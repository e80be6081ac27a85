/** What a stream must be allowed in Kafka: a refusal names only what was asked for first. */

import { isLabError, LabError } from "../core/errors.ts";

/** The same error, its hint led by all that the stream needs, where a right is missing. */
export function withRights(error: LabError, { topic, group }: { topic: string; group: string }): LabError {
  if (!isLabError(error, "KAFKA_DENIED") || error.details.missing === undefined) return error;
  const { code, message, hint, details, cause } = error;
  return new LabError(code, message, {
    hint: `a stream needs READ on topic ${topic} and READ on group ${group}; ${hint ?? ""}`,
    details: { ...details },
    cause,
  });
}
