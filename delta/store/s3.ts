/** A store in an S3 bucket. The only file that knows the AWS SDK. */

import { setMaxListeners } from "node:events";
import { open as openFile } from "node:fs/promises";
import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  UploadPartCommand,
} from "@aws-sdk/client-s3";
import { LabError } from "../../core/errors.ts";
import { checkPath, checkPrefix, compareUtf8 } from "./path.ts";
import { isBeyondEnd, putIfAbsentFailure, type S3Place, s3Error } from "./s3-errors.ts";
import type { S3Settings } from "./s3-settings.ts";
import type { Body, Store, StoredObject } from "./store.ts";

/** From this size on a body goes up in parts, so that a large file is neither held in memory nor sent again as a whole. */
const MULTIPART_BYTES = 16 * 1024 * 1024;
/** S3 takes at most 10,000 parts, of at least 5 MiB. */
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_AT_ONCE = 2;
const MOST_PARTS = 10_000;

/**
 * The objects whose keys begin with `prefix/` (or all, for an empty prefix) in `bucket`. Resolves once credentials are found, without
 * asking the server anything. CREDENTIALS_MISSING.
 */
export async function s3Store(
  options: S3Settings & { bucket: string; prefix: string },
  signal: AbortSignal,
): Promise<Store> {
  const { bucket, endpoint } = options;
  const prefix = options.prefix === "" ? "" : `${options.prefix}/`;
  const client = await connect(options, bucket, signal);
  // An attempt repeated by the client would find its own object and report that another writer won.
  const { requestHandler, credentials, region } = client.config;
  const onceClient = new S3Client({
    ...clientConfig(options),
    requestHandler,
    credentials,
    region,
    maxAttempts: 1,
  });

  const placeOf = (key: string): S3Place => ({ bucket, key, endpoint, hadCredentials: true });
  const at = (path: string) => ({ Bucket: bucket, Key: prefix + checkPath(path) });

  async function call<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    manyMayWaitOn(signal);
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw s3Error(error, placeOf(key));
    }
  }

  async function read(path: string, range: string | undefined, signal: AbortSignal): Promise<Uint8Array> {
    const where = at(path);
    return call(where.Key, signal, async () => {
      const command = new GetObjectCommand({ ...where, ...(range === undefined ? {} : { Range: range }) });
      const { Body: body } = await client.send(command, { abortSignal: signal });
      if (!body) throw new LabError("STORE_UNREACHABLE", `the answer for ${where.Key} has no body`);
      return body.transformToByteArray();
    });
  }

  async function readRange(
    path: string,
    start: number,
    length: number,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    // A range of no bytes cannot be asked for; one byte tells whether the object is there.
    const range = start < 0 ? `bytes=${start}` : `bytes=${start}-${start + Math.max(1, length) - 1}`;
    try {
      return (await read(path, range, signal)).subarray(0, length);
    } catch (error) {
      if (error instanceof LabError && isBeyondEnd(error.cause)) return new Uint8Array();
      throw error;
    }
  }

  async function* pages(request: Omit<ListObjectsV2CommandInput, "Bucket">, signal: AbortSignal) {
    let token: string | undefined;
    do {
      const page = await call(request.Prefix ?? "", signal, () =>
        client.send(
          // XML cannot carry every character a key may have.
          new ListObjectsV2Command({
            ...request,
            Bucket: bucket,
            EncodingType: "url",
            ContinuationToken: token,
          }),
          { abortSignal: signal },
        ),
      );
      yield page;
      token = page.NextContinuationToken;
    } while (token !== undefined);
  }
  const decoded = (key: string) => decodeURIComponent(key.replaceAll("+", "%20")).slice(prefix.length);

  async function* list(below: string, { startAfter, signal }: { startAfter?: string; signal: AbortSignal }) {
    const start = startAfter === undefined ? {} : { StartAfter: prefix + startAfter };
    for await (const page of pages({ Prefix: prefix + checkPrefix(below), ...start }, signal))
      for (const { Key = "", Size = 0, LastModified } of page.Contents ?? []) {
        const path = decoded(Key);
        // Consoles store empty objects named like folders.
        if (path.endsWith("/") || path === "") continue;
        const object: StoredObject = { path, size: Size, modifiedMs: LastModified?.getTime() ?? 0 };
        yield object;
      }
  }

  async function* folders(signal: AbortSignal) {
    const names: string[] = [];
    for await (const page of pages({ Prefix: prefix, Delimiter: "/" }, signal))
      for (const { Prefix = "" } of page.CommonPrefixes ?? []) names.push(decoded(Prefix).slice(0, -1));
    // In the order of the bucket `a.b/` comes before `a/`.
    yield* names.sort(compareUtf8);
  }

  async function putInParts(where: { Bucket: string; Key: string }, source: Source, signal: AbortSignal) {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(where), { abortSignal: signal });
    const upload = { ...where, UploadId };
    try {
      const partBytes = Math.max(PART_BYTES, Math.ceil(source.size / MOST_PARTS));
      const count = Math.ceil(source.size / partBytes);
      const parts: CompletedPart[] = [];
      let next = 1;
      const work = async () => {
        for (let PartNumber = next++; PartNumber <= count; PartNumber = next++) {
          const part = await source.read((PartNumber - 1) * partBytes, partBytes);
          const command = new UploadPartCommand({ ...upload, PartNumber, Body: part });
          const { ETag } = await client.send(command, { abortSignal: signal });
          parts[PartNumber - 1] = { PartNumber, ETag };
        }
      };
      await Promise.all(Array.from({ length: PARTS_AT_ONCE }, work));
      const command = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: parts } });
      await client.send(command, { abortSignal: signal });
    } catch (error) {
      // Parts nobody completes cost space; the signal may be why this fails, so it cannot bound the clean-up.
      const abortSignal = AbortSignal.timeout(5000);
      await onceClient.send(new AbortMultipartUploadCommand(upload), { abortSignal }).catch(() => {});
      throw error;
    }
  }

  return {
    root: `s3://${bucket}${prefix === "" ? "" : `/${options.prefix}`}`,
    get: (path, signal) => read(path, undefined, signal),
    getRange: readRange,
    list,
    folders,
    async put(path, body, signal) {
      const where = at(path);
      await call(where.Key, signal, () =>
        withSource(body, async (source) => {
          if (source.size > MULTIPART_BYTES) return putInParts(where, source, signal);
          const command = new PutObjectCommand({ ...where, Body: await source.read(0, source.size) });
          await client.send(command, { abortSignal: signal });
        }),
      );
    },
    async putIfAbsent(path, body, signal) {
      manyMayWaitOn(signal);
      const where = at(path);
      try {
        const command = new PutObjectCommand({ ...where, Body: body, IfNoneMatch: "*" });
        await onceClient.send(command, { abortSignal: signal });
        return "created";
      } catch (error) {
        signal.throwIfAborted();
        const place = { ...placeOf(where.Key), isConditional: true };
        const meaning = putIfAbsentFailure(error, place);
        if (meaning === "refused") throw s3Error(error, place);
        return meaning;
      }
    },
    async delete(path, signal) {
      const where = at(path);
      await call(where.Key, signal, () =>
        client.send(new DeleteObjectCommand(where), { abortSignal: signal }),
      );
    },
    async close() {
      onceClient.destroy();
      client.destroy();
    },
  };
}

/** Throws if `signal` has aborted. Each request in flight listens to it, which Node would take for a leak from the eleventh on. */
function manyMayWaitOn(signal: AbortSignal): void {
  signal.throwIfAborted();
  setMaxListeners(0, signal);
}

/** Makes the bucket unless it is there. STORE_DENIED, STORE_UNREACHABLE, CREDENTIALS_MISSING. */
export async function ensureBucket(bucket: string, settings: S3Settings, signal: AbortSignal): Promise<void> {
  const client = await connect(settings, bucket, signal);
  const isThere = () =>
    client.send(new HeadBucketCommand({ Bucket: bucket }), { abortSignal: signal }).then(
      () => true,
      () => false,
    );
  try {
    if (!(await isThere()))
      await client.send(new CreateBucketCommand({ Bucket: bucket }), { abortSignal: signal });
  } catch (error) {
    signal.throwIfAborted();
    // Another process may have made it in between.
    if (!(await isThere())) throw s3Error(error, { bucket, key: "", endpoint: settings.endpoint });
  } finally {
    client.destroy();
  }
}

async function connect(settings: S3Settings, bucket: string, signal: AbortSignal): Promise<S3Client> {
  // What the SDK's later versions want of Node is for whoever updates the pinned one, not for who runs a command.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= "true";
  const region = settings.region ?? (await regionOfProfile());
  const client = new S3Client({ ...clientConfig(settings), region });
  try {
    await client.config.credentials();
    signal.throwIfAborted();
    return client;
  } catch (error) {
    client.destroy();
    signal.throwIfAborted();
    throw s3Error(error, { bucket, key: "", endpoint: settings.endpoint });
  }
}

function clientConfig(settings: S3Settings): S3ClientConfig {
  const { endpoint, accessKeyId, secretAccessKey, sessionToken, idleMs = 20_000 } = settings;
  return {
    requestHandler: {
      connectionTimeout: Math.min(idleMs, 5000),
      socketTimeout: idleMs,
      requestTimeout: 3 * idleMs,
      throwOnRequestTimeout: true,
    },
    // Newer checksums are unknown to many servers; the request's signature covers the body already.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : {
          credentials: {
            accessKeyId,
            secretAccessKey,
            ...(sessionToken === undefined ? {} : { sessionToken }),
          },
        }),
  };
}

/** The region of the AWS configuration files, which a server that is not Amazon's seldom cares about. */
async function regionOfProfile(): Promise<string> {
  const client = new S3Client({});
  try {
    return await client.config.region();
  } catch {
    return "us-east-1";
  } finally {
    client.destroy();
  }
}

/** Something to upload that can be read in pieces, any number of times. */
type Source = { size: number; read(start: number, length: number): Promise<Uint8Array> };

async function withSource<T>(body: Body, use: (source: Source) => Promise<T>): Promise<T> {
  if (body instanceof Uint8Array) {
    return use({ size: body.length, read: async (start, length) => body.subarray(start, start + length) });
  }
  const file = await openFile(body.file).catch((cause: unknown) => {
    throw new LabError("OBJECT_MISSING", `${body.file}: the file to store cannot be read`, { cause });
  });
  try {
    const { size } = await file.stat();
    return await use({
      size,
      async read(start, length) {
        const bytes = new Uint8Array(Math.min(length, size - start));
        await file.read(bytes, 0, bytes.length, start);
        return bytes;
      },
    });
  } finally {
    await file.close();
  }
}
