/** `lab audit retire`: an origin will send no more, and no day waits for it. */

import { retirement } from "../audit/retire.ts";
import { LabError } from "../core/errors.ts";
import { toJson } from "../core/ops.ts";
import type { AuditValues } from "./audit.ts";
import { connectForAudit } from "./audit-reading.ts";
import type { Context } from "./command.ts";

export async function auditRetire(context: Context, values: AuditValues, origin: string): Promise<number> {
  const { topic, auditTopic } = values;
  if (origin === "")
    throw new LabError("USAGE", "which origin is to be retired?", {
      hint: "lab audit retire shop-7 --topic orders",
    });
  if (topic === undefined)
    throw new LabError("USAGE", `of which topic is ${origin} to be retired?`, {
      hint: `lab audit retire ${origin} --topic orders`,
    });
  const sink = await (await connectForAudit(context, values)).sink({ acks: "all", idempotent: true });
  try {
    const value = JSON.stringify(retirement(topic, origin, Date.now()));
    await sink.send(auditTopic, [{ key: origin, value }]);
  } finally {
    await sink.close();
  }
  context.screen.out(
    context.common.json
      ? `${toJson({ topic, origin, retired: true }, 2)}\n`
      : `${origin} is not waited for any more in ${topic}\n`,
  );
  return 0;
}
