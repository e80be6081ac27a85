/** The tables that a route fills, beside the stream's own: opened as they are named, made with its columns and partitions. */

import { isDeepStrictEqual } from "node:util";
import { isLabError, LabError } from "../core/errors.ts";
import type { Metadata } from "../delta/actions.ts";
import { CHECK_PREFIX } from "../delta/constraints.ts";
import { createTable } from "../delta/create.ts";
import { openTable, type TableOptions } from "../delta/open.ts";
import type { Store } from "../delta/store/store.ts";
import type { Snapshot } from "../delta/table.ts";
import type { StructType } from "../delta/types.ts";
import type { Opened } from "./destination.ts";
import { isNameable, routedUri } from "./route-name.ts";

/** The value of a route; null where it is NULL. */
export type Route = string | null;

/** Property of the stream's table: a JSON array of the routes that have a table, or are about to. */
export const ROUTES_PROPERTY = "lab.routes";

/** The routes that a stream's table knows. CORRUPT_LOG where the property is none of ours. */
export function routesOf({ metadata }: Pick<Snapshot, "metadata">): Route[] {
  const text = metadata.configuration[ROUTES_PROPERTY];
  if (text === undefined) return [];
  try {
    const routes: unknown = JSON.parse(text);
    if (Array.isArray(routes) && routes.every((one) => one === null || typeof one === "string"))
      return routes;
  } catch {
    // Told below.
  }
  throw new LabError("CORRUPT_LOG", `table property ${ROUTES_PROPERTY} is no list of routes: ${text}`, {
    hint: `set it to the JSON array of the routes that have tables, such as ["de","fr"]`,
  });
}

/** The metadata of a stream's table that names these routes, too. */
export function withRoutes(metadata: Metadata, routes: readonly Route[]): Metadata {
  const named = new Set([...routesOf({ metadata }), ...routes]);
  return {
    ...metadata,
    configuration: { ...metadata.configuration, [ROUTES_PROPERTY]: JSON.stringify([...named]) },
  };
}

export type RoutedTables = {
  /** Where the table of a route is, or will be. Closed with the others. */
  store(route: Route): Promise<Store>;
  /** The newest version of each of these tables that there is; what was kept is forgotten. */
  refresh(routes: readonly Route[], signal: AbortSignal): Promise<Map<Route, Opened>>;
  /** The table as our last commit left it, or as it is; made where there is none. UNSUPPORTED_FEATURE where it asks more of rows than `base`. */
  open(route: Route, base: Snapshot, schema: StructType, signal: AbortSignal): Promise<Opened>;
  /** What our commit left. */
  keep(route: Route, opened: Opened): void;
  close(): Promise<void>;
};

export function createRoutedTables(
  tableUri: string,
  openStore: (uri: string) => Promise<Store>,
  tableOptions: TableOptions,
): RoutedTables {
  const stores = new Map<Route, Promise<Store>>();
  const kept = new Map<Route, Opened>();

  function storeOf(route: Route): Promise<Store> {
    const known = stores.get(route) ?? openStore(routedUri(tableUri, route));
    stores.set(route, known);
    return known;
  }

  async function look(route: Route, signal: AbortSignal): Promise<Opened | null> {
    try {
      const table = await openTable(await storeOf(route), signal, tableOptions);
      return { table, snapshot: await table.latest(signal) };
    } catch (error) {
      if (isLabError(error, "NOT_A_TABLE")) return null;
      throw error;
    }
  }

  async function create(
    route: Route,
    base: Snapshot,
    schema: StructType,
    signal: AbortSignal,
  ): Promise<Opened> {
    const own = Object.entries(base.metadata.configuration).filter(([name]) => !name.startsWith("lab."));
    try {
      const table = await createTable(
        await storeOf(route),
        { schema, partitionColumns: base.partitionColumns, configuration: Object.fromEntries(own) },
        signal,
        tableOptions,
      );
      return { table, snapshot: await table.latest(signal) };
    } catch (error) {
      const made = isLabError(error, "TABLE_EXISTS") ? await look(route, signal) : null;
      if (!made) throw error;
      return made;
    }
  }

  return {
    store: storeOf,
    async refresh(routes, signal) {
      kept.clear();
      const found = new Map<Route, Opened>();
      for (const route of routes) {
        const opened = await look(route, signal);
        if (opened) found.set(route, opened);
      }
      return found;
    },
    async open(route, base, schema, signal) {
      const known = kept.get(route);
      if (known) return known;
      const opened = (await look(route, signal)) ?? (await create(route, base, schema, signal));
      requireLike(base, opened.snapshot, routedUri(tableUri, route));
      kept.set(route, opened);
      return opened;
    },
    keep: (route, opened) => void kept.set(route, opened),
    async close() {
      const opened = await Promise.allSettled(stores.values());
      await Promise.all(opened.map((one) => (one.status === "fulfilled" ? one.value.close() : undefined)));
    },
  };
}

/** Rows are checked for what the stream's table asks of them, and laid out by its partitions. */
function requireLike(base: Snapshot, routed: Snapshot, uri: string): void {
  const checks = ({ metadata }: Snapshot) =>
    Object.entries(metadata.configuration).filter(([name]) => name.startsWith(CHECK_PREFIX));
  const isChecked = checks(routed).every(
    ([name, expression]) => base.metadata.configuration[name] === expression,
  );
  const required = routed.schema.fields.filter(({ nullable }) => !nullable).map(({ name }) => name);
  const isRequired = required.every((name) =>
    base.schema.fields.some((field) => field.name === name && !field.nullable),
  );
  const isLaidOut = isDeepStrictEqual(base.partitionColumns, routed.partitionColumns);
  if (isChecked && isRequired && isLaidOut) return;
  const what = isLaidOut ? "asks more of its rows than the stream's table" : "has other partition columns";
  throw new LabError("UNSUPPORTED_FEATURE", `${uri} ${what}: no rows can be routed there`, {
    hint: "give both tables the same constraints and partition columns, or move this one away",
  });
}

/**
 * Says which routes are refused, and why: a table's name may be too long, and no more than `maxTables` are made. Each new route counts from
 * when it is first asked for.
 */
export function routeLimit(
  tableUri: string,
  maxTables: number,
  known: readonly Route[],
): (route: Route) => { code: string; message: string } | null {
  const routes = new Set(known);
  return (route) => {
    if (routes.has(route)) return null;
    if (!isNameable(tableUri, route))
      return { code: "ROUTE_TOO_LONG", message: `no table can be named after ${JSON.stringify(route)}` };
    if (routes.size >= maxTables)
      return {
        code: "TOO_MANY_TABLES",
        message: `there are ${routes.size} routed tables, and ${JSON.stringify(route)} would be one more than maxTables`,
      };
    routes.add(route);
    return null;
  };
}
