/** The rules as Prometheus reads them: `compose/alerts.yml` is this text, written anew from here. */

import { stringify } from "yaml";
import { RULES } from "./alerts.ts";

export function alertsFile(): string {
  const rules = RULES.map(({ name, expr, forSeconds, severity, summary }) => ({
    alert: name,
    expr,
    for: `${forSeconds}s`,
    labels: { severity },
    annotations: { summary },
  }));
  const head =
    "# Written from dashboard/alerts.ts, which evaluates the same rules; a test holds both together.\n";
  return head + stringify({ groups: [{ name: "delta-stream-lab", rules }] }, { lineWidth: 0 });
}
