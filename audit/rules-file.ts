/** The rules as Prometheus reads them. */

import { stringify } from "yaml";
import { AUDIT_RULES } from "./alerts.ts";

export function auditRulesFile(): string {
  const rules = AUDIT_RULES.map(({ name, expr, severity, summary }) => ({
    ...{ alert: name, expr, labels: { severity }, annotations: { summary } },
  }));
  return stringify({ groups: [{ name: "delta-stream-lab-audit", rules }] }, { lineWidth: 0 });
}
