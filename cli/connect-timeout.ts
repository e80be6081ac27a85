/** The one setting that `up`, `produce` and `ingest` share about first contacts. */

import { duration } from "../core/setting-kinds.ts";
import { setting } from "../core/settings.ts";

export const CONNECT_TIMEOUT = setting<number>({
  flag: "--connect-timeout",
  kind: duration,
  default: 30_000,
  description: "how long the first contact with broker and store may take; later outages are waited out",
});
