/** How to reach an S3 server: what is given, else the environment, else Amazon's own. */

import { LabError } from "../../core/errors.ts";

export type S3Settings = {
  /** `http(s)://HOST[:PORT]` of a server that is not Amazon's; addressed by path. */
  endpoint?: string;
  region?: string;
  /** Without these the AWS SDK's chain finds some: environment, profile, container, instance. */
  accessKeyId?: string;
  secretAccessKey?: string;
  sessionToken?: string;
  /** How long a connection may be silent, in ms. A whole request may take three times that. */
  idleMs?: number;
};

/**
 * Settings with the environment's endpoint (`AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`) and region (`AWS_REGION`,
 * `AWS_DEFAULT_REGION`) where none are given. CONFIG_INVALID for an endpoint that is no http(s) URL.
 */
export function s3Settings(given: S3Settings, env: NodeJS.ProcessEnv): S3Settings {
  const endpoint = given.endpoint || env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL;
  const region = given.region || env.AWS_REGION || env.AWS_DEFAULT_REGION;
  if (endpoint && !(URL.canParse(endpoint) && /^https?:\/\//.test(endpoint))) {
    throw new LabError("CONFIG_INVALID", `the S3 endpoint ${JSON.stringify(endpoint)} is no http(s) URL`, {
      hint: "set AWS_ENDPOINT_URL to something like http://127.0.0.1:9000",
    });
  }
  return { ...given, ...(endpoint ? { endpoint } : {}), ...(region ? { region } : {}) };
}
