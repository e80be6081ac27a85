/** Zstandard unpacked: by a package with binaries, else in plain JavaScript, which takes four times as long. */

import { createRequire } from "node:module";
import { decompress } from "fzstd";

/** All that is packed in whole frames. Throws where they are damaged or cut off. */
export type Unzstd = (packed: Buffer) => Uint8Array;

type Package = { Decoder: new () => { decodeSync(packed: Buffer): Buffer } };

/** In plain JavaScript, on a platform that the package has no binary for. */
export const plainUnzstd: Unzstd = (packed) => decompress(packed);

/** Null where the package cannot be loaded. */
export function nativeUnzstd(): Unzstd | null {
  try {
    const { Decoder } = createRequire(import.meta.url)("@toondepauw/node-zstd") as Package;
    const decoder = new Decoder();
    return (packed) => decoder.decodeSync(packed);
  } catch {
    return null;
  }
}

let loaded: Unzstd | undefined;

/** By the better of the two; looked for with the first batch that needs it. */
export const unzstd: Unzstd = (packed) => {
  loaded ??= nativeUnzstd() ?? plainUnzstd;
  return loaded(packed);
};
