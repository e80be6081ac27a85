/** `lab merge`: `lab ingest` for a topic of changes. */

import { LabError } from "../core/errors.ts";
import { defineCommand } from "./command.ts";
import { ingest } from "./ingest.ts";
import type { LabStream } from "./lab-yaml.ts";

export const merge = defineCommand({
  ...ingest,
  name: "merge",
  summary: "Apply a topic of changes to a table with one row a key, each change exactly once",
  examples: [
    "lab merge --topic shop.public.customers --table customers --once",
    "lab merge --topic inventory --cdc-format dms --cdc-key id",
    "lab merge --topic prices --cdc-format plain --cdc-key sku --cdc-position seq",
    "lab merge                       the streams of ./lab.yaml with mode: cdc",
  ],
  seeAlso: ["ingest", "produce", "optimize"],
  run(context, values, args) {
    const { lab } = context;
    if (values.mode === "append")
      throw new LabError("USAGE", "lab merge applies changes: --mode append is for lab ingest", {
        hint: "leave --mode out, or use lab ingest",
      });
    // Of lab.yaml those streams that are of changes.
    const own =
      values.topic === undefined && lab ? { ...lab, streams: lab.streams.filter(isOfChanges) } : lab;
    if (own?.streams.length === 0 && lab && lab.streams.length > 0)
      throw new LabError("USAGE", "no stream of lab.yaml has mode: cdc", {
        hint: `give it to one of its streams (${lab.streams.map(({ topic }) => topic).join(", ")}), or give --topic T`,
      });
    return ingest.run({ ...context, lab: own }, { ...values, mode: "cdc" }, args);
  },
});

const isOfChanges = ({ mode }: LabStream) => mode === "cdc";
