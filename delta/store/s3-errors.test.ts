import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LabError } from "../../core/errors.ts";
import { putIfAbsentFailure, s3Error } from "./s3-errors.ts";

const place = { bucket: "lab", key: "t/x", endpoint: "http://127.0.0.1:9000" };
const served = (name: string, httpStatusCode: number) =>
  Object.assign(new Error(name), { name, $metadata: { httpStatusCode } });
const system = (code: string) => Object.assign(new Error(code), { code, $metadata: { attempts: 1 } });

for (const [error, code] of [
  [served("NoSuchKey", 404), "OBJECT_MISSING"],
  [served("NoSuchBucket", 404), "BUCKET_MISSING"],
  [served("AccessDenied", 403), "STORE_DENIED"],
  [served("InvalidAccessKeyId", 403), "STORE_DENIED"],
  [served("SignatureDoesNotMatch", 403), "STORE_DENIED"],
  [served("AuthorizationHeaderMalformed", 400), "STORE_DENIED"],
  [served("SomethingNew", 400), "STORE_DENIED"],
  [served("XMinioStorageFull", 507), "STORE_FULL"],
  [served("KeyTooLongError", 400), "PATH_REFUSED"],
  [served("SlowDown", 503), "STORE_UNREACHABLE"],
  [served("InternalError", 500), "STORE_UNREACHABLE"],
  [served("RequestTimeout", 400), "STORE_UNREACHABLE"],
  [system("ECONNREFUSED"), "STORE_UNREACHABLE"],
  [system("ENOTFOUND"), "STORE_UNREACHABLE"],
  [Object.assign(new Error("silent"), { name: "TimeoutError" }), "STORE_UNREACHABLE"],
  [Object.assign(new Error("none"), { name: "CredentialsProviderError" }), "CREDENTIALS_MISSING"],
  [new TypeError("x is not a function"), "INTERNAL"],
] as const) {
  test(`${error.name} ${error.message} is ${code}`, () => {
    assert.equal(s3Error(error, place).code, code);
  });
}

test("an error names the object, the server and what it answered", () => {
  const { message, hint } = s3Error(served("AccessDenied", 403), place);
  assert.match(message, /^s3:\/\/lab\/t\/x at http:\/\/127\.0\.0\.1:9000: .*\(AccessDenied, HTTP 403\)$/);
  assert.match(hint ?? "", /AWS_ACCESS_KEY_ID/);
});

for (const [error, meaning] of [
  [served("PreconditionFailed", 412), "exists"],
  [served("ConditionalRequestConflict", 409), "unclear"],
  [served("InternalError", 500), "unclear"],
  [served("SlowDown", 503), "unclear"],
  [served("RequestTimeout", 400), "unclear"],
  [served("Gateway Timeout", 504), "unclear"],
  [system("ECONNRESET"), "unclear"],
  [system("ETIMEDOUT"), "unclear"],
  [served("AccessDenied", 403), "refused"],
  [served("NoSuchBucket", 404), "refused"],
  [served("NotImplemented", 501), "refused"],
  [served("XMinioStorageFull", 507), "refused"],
] as const) {
  test(`a conditional put that ends with ${error.name} ${error.message} is ${meaning}`, () => {
    assert.equal(putIfAbsentFailure(error, { ...place, isConditional: true }), meaning);
  });
}

test("a server without conditional puts is not atomic, rather than broken", () => {
  assert.equal(
    s3Error(served("NotImplemented", 501), { ...place, isConditional: true }).code,
    "STORE_NOT_ATOMIC",
  );
});

test("whatever is thrown becomes a LabError", () => {
  fc.assert(
    fc.property(fc.anything(), (thrown) => {
      assert.ok(s3Error(thrown, place) instanceof LabError);
      assert.ok(["exists", "unclear", "refused"].includes(putIfAbsentFailure(thrown, place)));
    }),
  );
});
