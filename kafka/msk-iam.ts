/** Tokens for Amazon MSK's IAM access control, signed with AWS credentials. */

import type { generateAuthTokenFromCredentialsProvider } from "aws-msk-iam-sasl-signer-js";
import { LabError } from "../core/errors.ts";
import type { TokenSource } from "./ports.ts";
import { keptToken } from "./token.ts";

export type AwsCredentials = Parameters<
  typeof generateAuthTokenFromCredentialsProvider
>[0]["awsCredentialsProvider"];

export type MskIamOptions = {
  region: string;
  /** Default: the AWS SDK's chain (environment, profile, web identity, container, instance). */
  credentials?: AwsCredentials;
  now?: () => number;
};

/** A token lives 15 minutes, or as long as the credentials. CREDENTIALS_MISSING where the chain finds none. */
export function mskIam({ region, credentials, now = Date.now }: MskIamOptions): TokenSource {
  return keptToken(async () => {
    // Loaded here: it brings the SDK's whole credential chain, which few need.
    const signer = await import("aws-msk-iam-sasl-signer-js");
    try {
      const { token, expiryTime } =
        credentials === undefined
          ? await signer.generateAuthToken({ region })
          : await signer.generateAuthTokenFromCredentialsProvider({
              region,
              awsCredentialsProvider: credentials,
            });
      return { value: token, expiresMs: expiryTime };
    } catch (cause) {
      throw new LabError("CREDENTIALS_MISSING", `no AWS credentials to sign for MSK in ${region} with`, {
        hint: "set AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run with a role",
        cause,
      });
    }
  }, now);
}
