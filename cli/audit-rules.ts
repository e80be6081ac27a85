/** `lab audit rules`: the alert rules for a Prometheus that scrapes `lab audit watch`, or the dashboard. */

import { AUDIT_RULES } from "../audit/alerts.ts";
import { auditRulesFile } from "../audit/rules-file.ts";
import { toJson } from "../core/ops.ts";
import type { Context } from "./command.ts";

export async function auditRules({ screen, common }: Context): Promise<number> {
  const rules = AUDIT_RULES.map(({ name, severity, expr, summary }) => ({ name, severity, expr, summary }));
  screen.out(common.json ? `${toJson({ rules }, 2)}\n` : auditRulesFile());
  return 0;
}
