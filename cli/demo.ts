/** What `lab up` streams where there is no lab.yaml: the tutorial's four messages, and orders. */

import { parseLabYaml } from "./lab-yaml.ts";

export const DEMO_YAML = `# What \`lab up\` streams where there is no lab.yaml. Copy it to ./lab.yaml to change it.
streams:
  - topic: my-topic
    format: text
  - topic: orders
    format: json
    partitionBy: [date]
`;

export type DemoProducer = { topic: string; partitions: number; args: readonly string[] };

/** `dummy` has the tutorial's pace, four messages and a rest; orders come steadily, for something to look at. */
export const DEMO_PRODUCERS: readonly DemoProducer[] = [
  { topic: "my-topic", partitions: 1, args: ["--source", "dummy"] },
  { topic: "orders", partitions: 3, args: ["--source", "orders", "--rate", "50/s"] },
];

/** The demo's streams, as lab.yaml would give them. */
export function demoYaml(file: string): ReturnType<typeof parseLabYaml> {
  return parseLabYaml(DEMO_YAML, file);
}
