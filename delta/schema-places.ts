/** Every place of a schema that a value can stand in: columns, struct fields, elements of arrays, keys and values of maps. */

import type { DataType } from "./types.ts";

export type Place = {
  /** Names from the top; `element`, `key` and `value` inside of arrays and maps. */
  path: readonly string[];
  type: DataType;
  nullable: boolean;
  /** The field's own; empty inside of arrays and maps. */
  metadata: Readonly<Record<string, unknown>>;
};

/** From the outside to the inside, in schema order. Map keys are never null by what they are, so they count as nullable here. */
export function* placesOf(type: DataType, path: readonly string[] = []): Generator<Place> {
  for (const place of childrenOf(type)) {
    const here = { ...place, path: [...path, ...place.path] };
    yield here;
    yield* placesOf(here.type, here.path);
  }
}

function childrenOf(type: DataType): Place[] {
  if (typeof type === "string") return [];
  const metadata = {};
  switch (type.type) {
    case "struct":
      return type.fields.map(({ name, ...field }) => ({ path: [name], ...field }));
    case "array":
      return [{ path: ["element"], type: type.elementType, nullable: type.containsNull, metadata }];
    case "map":
      return [
        { path: ["key"], type: type.keyType, nullable: true, metadata },
        { path: ["value"], type: type.valueType, nullable: type.valueContainsNull, metadata },
      ];
  }
}
