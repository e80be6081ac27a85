/** Where lab.yaml is wrong, and the way out. */

import { type Document, isMap, isPair, isScalar, type LineCounter, type Node } from "yaml";
import type { z } from "zod";
import { LabError } from "../core/errors.ts";
import { nearNames } from "../query/near-names.ts";
import { isSecretPath } from "./kafka-yaml.ts";
import { faultText } from "./yaml-fault.ts";

/** A file that was read, and the JSON Schema of all of it. */
export type Place = { document: Document; lines: LineCounter; file: string; schema: unknown };

/** CONFIG_INVALID for what the schema has against a value, with file, line, key, value, what is expected there, and what the key is. */
export function explain(issue: z.core.$ZodIssue, value: unknown, place: Place): LabError {
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0] as string;
    const allowed = keysAt(issue.path, place);
    const near = nearNames(key, allowed);
    return invalid([...issue.path, key], "is no key of lab.yaml", place, [
      ...(near.length > 0 ? [`did you mean ${near.join(" or ")}?`] : []),
      `allowed here: ${allowed.join(", ")}`,
    ]);
  }
  const given = valueAt(value, issue.path);
  if (given === undefined)
    return invalid(issue.path, "is missing", place, [`every entry needs ${String(issue.path.at(-1))}`]);
  if (isSecretPath(issue.path, given))
    return invalid(issue.path, "is of another kind than it must be", place, [
      "see lab.schema.json; a secret stands in quotes, or as env:NAME or file:/path",
    ]);
  const about = descriptionAt(issue.path, place);
  const keys = keysAt(issue.path, place);
  return invalid(issue.path, `is ${JSON.stringify(given)}: ${faultText(issue, given)}`, place, [
    ...(about === undefined ? [] : [`${keyName(issue.path)}: ${about.replace(/\.$/, "")}`]),
    ...(keys.length === 0 ? [] : [`keys are ${keys.join(", ")}`]),
    "lab.schema.json has every key",
  ]);
}

function invalid(path: readonly PropertyKey[], why: string, place: Place, hints: string[]): LabError {
  const line = lineOf(path, place);
  return new LabError("CONFIG_INVALID", `${place.file}:${line}: ${pathText(path) || "the file"} ${why}`, {
    hint: hints.join("; "),
    details: { file: place.file, line, key: pathText(path) },
  });
}

/** `streams[1].format`. */
function pathText(path: readonly PropertyKey[]): string {
  return path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./, "");
}

/** The last name of a path: of an entry of a list the list's. */
function keyName(path: readonly PropertyKey[]): string {
  return String(path.findLast((part) => typeof part !== "number") ?? "lab.yaml");
}

/** The line of the key itself, or of the nearest thing above it that exists. */
function lineOf(path: readonly PropertyKey[], { document, lines }: Place): number {
  for (let length = path.length; length > 0; length--) {
    const parent = length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true);
    const last = path[length - 1];
    const item = isMap(parent)
      ? parent.items.find((pair) => isPair(pair) && keyText(pair.key) === last)
      : undefined;
    const node = (item?.key ?? document.getIn(path.slice(0, length), true)) as Node | undefined;
    if (node?.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

function keyText(key: unknown): unknown {
  return isScalar(key) ? key.value : key;
}

type JsonNode = {
  properties?: Record<string, JsonNode>;
  items?: JsonNode;
  additionalProperties?: JsonNode | false;
  description?: string;
};

/** The schema along a path, from the whole file on. */
function nodesAt(path: readonly PropertyKey[], { schema }: Place): JsonNode[] {
  const nodes = [schema as JsonNode];
  for (const part of path) {
    const at = nodes.at(-1)!;
    const next =
      typeof part === "number"
        ? at.items
        : (at.properties?.[String(part)] ?? (at.additionalProperties || undefined));
    if (next === undefined) return nodes;
    nodes.push(next);
  }
  return nodes;
}

/** The keys that the schema knows at a path. */
function keysAt(path: readonly PropertyKey[], place: Place): string[] {
  return Object.keys(nodesAt(path, place)[path.length]?.properties ?? {});
}

/** What a key is, or the list or map that it is an entry of. */
function descriptionAt(path: readonly PropertyKey[], place: Place): string | undefined {
  return nodesAt(path, place)
    .slice(1)
    .findLast(({ description }) => description !== undefined)?.description;
}

/** What stands at a path of names and places in lists; undefined where nothing does. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part], value);
}
