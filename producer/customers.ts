/**
 * What a database tells of its table of customers, from a seed, as Debezium's Postgres connector sends it: a snapshot of what is there, then
 * transaction after transaction. Everything happens that makes a merge hard: several changes of a key in one transaction, keys that change and
 * trade places, deleted keys that come back, positions that interleave, large values left out, a column that comes later, and what a connector
 * sends again after a restart or much too late.
 */

import { type Random, randomAt } from "./random.ts";
import type { Message, MessageSource } from "./source.ts";

export type Customer = {
  id: number;
  name: string;
  city: string;
  plan: string;
  credit: number;
  /** Large: left out of an update that does not touch it. */
  notes: string;
  since: string;
  phone?: string;
};

/** A message, and what it does to the table: nothing where it only repeats what was sent before. */
export type CustomerEvent = { message: Message; effect: { set: Customer } | { remove: number } | null };

const FIRST = ["Ada", "Grace", "Jürgen", "Søren", "María", "Zoë", "美咲", "Łukasz", "Noor", "Edsger"];
const LAST = ["Lovelace", "Hopper", "Groß", "Kierkegaard", "Núñez", "Brontë", "佐藤", "Wałęsa", "Haddad"];
const CITIES = ["Berlin", "Paris", "Roma", "Łódź", "東京", "Göteborg", "Sevilla"];
const PLANS = ["free", "basic", "pro"];

const SNAPSHOT_CUSTOMERS = 100;
const PLACEHOLDER = "__debezium_unavailable_value";
/** From this transaction on customers have a phone. */
const PHONES_FROM = 200;
const FIRST_MS = Date.UTC(2026, 0, 1);
/** How many transactions a connector may send again. */
const KEPT_TRANSACTIONS = 8;

/** The customers that the table holds once the first `count` messages of `seed` have been sent. */
export function customersAfter(seed: number, count: number): Map<number, Customer> {
  const customers = new Map<number, Customer>();
  let sent = 0;
  for (const { effect } of customerEvents(seed)) {
    if (sent++ >= count) break;
    if (effect && "set" in effect) customers.set(effect.set.id, effect.set);
    else if (effect) customers.delete(effect.remove);
  }
  return customers;
}

/** Keyed by the customer's id, as the connector does. */
export function customersSource(seed: number): MessageSource {
  return {
    name: "customers",
    isEndless: true,
    *messages(from) {
      let index = 0;
      for (const { message } of customerEvents(seed)) if (index++ >= from) yield message;
    },
  };
}

/** All that is ever sent, the same for the same seed. */
export function* customerEvents(seed: number): Generator<CustomerEvent> {
  const database = createDatabase(seed);
  yield* database.snapshot();
  const kept: CustomerEvent[][] = [];
  for (let n = 0; ; n++) {
    const random = randomAt(seed, n);
    const events = database.transaction(random, n);
    yield* events;
    kept.push(events);
    if (kept.length > KEPT_TRANSACTIONS) kept.shift();
    // After a restart a connector goes on from where it last noted to be.
    if (random.below(25) === 0) yield* repeated(kept.slice(-1 - random.below(kept.length)).flat());
    if (random.below(15) === 0) yield* repeated(late(random, kept));
  }
}

function* repeated(events: readonly CustomerEvent[]): Generator<CustomerEvent> {
  for (const { message } of events) yield { message, effect: null };
}

/** One row's message from a while ago. */
function late(random: Random, kept: readonly CustomerEvent[][]): CustomerEvent[] {
  const rows = kept[0]!.filter(({ effect }) => effect !== null && "set" in effect);
  return rows.length === 0 ? [] : [random.pick(rows)];
}

type Place = { lsn: number; sequence: string; snapshot: string; txId: number; ms: number };

function createDatabase(seed: number) {
  const customers = new Map<number, Customer>();
  const gone: number[] = [];
  let lastId = 0;
  let committed: number | null = null;
  let lsn = 1_000_000;

  function envelope(op: string, before: object | null, after: object | null, place: Place): string {
    const { ms, ...position } = place;
    const source = {
      ...{ version: "3.0.0.Final", connector: "postgresql", name: "shop", ts_ms: ms, db: "shop" },
      ...{ schema: "public", table: "customers", ...position, xmin: null },
    };
    return JSON.stringify({ before, after, source, op, ts_ms: ms + 40, transaction: null });
  }

  const keyOf = (id: number) => JSON.stringify({ id });

  function made(op: "c" | "r", customer: Customer, place: Place, oldId?: number): CustomerEvent {
    const value = envelope(op, null, customer, place);
    const headers = oldId === undefined ? {} : { headers: { "__debezium.oldkey": keyOf(oldId) } };
    return { message: { key: keyOf(customer.id), value, ...headers }, effect: { set: customer } };
  }

  /** A delete and its tombstone. */
  function removed(id: number, place: Place, newId?: number): CustomerEvent[] {
    const headers = newId === undefined ? {} : { headers: { "__debezium.newkey": keyOf(newId) } };
    const value = envelope("d", { id }, null, place);
    return [
      { message: { key: keyOf(id), value, ...headers }, effect: { remove: id } },
      { message: { key: keyOf(id), value: null, ...headers }, effect: null },
    ];
  }

  function updated(customer: Customer, place: Place, touchesNotes: boolean): CustomerEvent {
    const after = touchesNotes ? customer : { ...customer, notes: PLACEHOLDER };
    return {
      message: { key: keyOf(customer.id), value: envelope("u", null, after, place) },
      effect: { set: customer },
    };
  }

  function fresh(random: Random, id: number, n: number): Customer {
    return {
      id,
      name: `${random.pick(FIRST)} ${random.pick(LAST)}`,
      city: random.pick(CITIES),
      plan: random.pick(PLANS),
      credit: random.below(100_000) / 100,
      notes: `${random.pick(CITIES)} `.repeat(20 + random.below(40)),
      since: new Date(FIRST_MS + n * 1000).toISOString(),
      ...(n >= PHONES_FROM ? { phone: `+49 30 ${1_000_000 + random.below(9_000_000)}` } : {}),
    };
  }

  function changed(
    random: Random,
    before: Customer,
    n: number,
  ): { customer: Customer; touchesNotes: boolean } {
    const { name, city, plan, credit, notes, phone } = fresh(random, before.id, n);
    const touchesNotes = random.below(4) === 0;
    const rest = touchesNotes ? { notes } : random.below(2) === 0 ? { city, plan } : { name, credit };
    return {
      customer: { ...before, ...rest, ...(phone === undefined ? {} : { phone }) },
      touchesNotes,
    };
  }

  return {
    *snapshot(): Generator<CustomerEvent> {
      for (let n = 0; n < SNAPSHOT_CUSTOMERS; n++) {
        const snapshot = n === 0 ? "first" : n === SNAPSHOT_CUSTOMERS - 1 ? "last" : "true";
        const customer = fresh(randomAt(seed ^ 0x5eed, n), ++lastId, 0);
        customers.set(customer.id, customer);
        yield made("r", customer, { lsn, sequence: `[null,"${lsn}"]`, snapshot, txId: 700, ms: FIRST_MS });
      }
    },

    /** One transaction's messages. */
    transaction(random: Random, n: number): CustomerEvent[] {
      const events: CustomerEvent[] = [];
      // Written before the last one was committed, and committed after it.
      let own = committed !== null && random.below(3) === 0 ? committed - 500 : lsn;
      const place = (): Place => {
        own += 8;
        const sequence = JSON.stringify([committed === null ? null : String(committed), String(own)]);
        return { lsn: own, sequence, snapshot: "false", txId: 701 + n, ms: FIRST_MS + n * 1000 };
      };
      const moved = new Set<number>();
      const someone = () => random.pick([...customers.keys()]);
      const set = (customer: Customer) => void customers.set(customer.id, customer);
      const take = (id: number): Customer => {
        const customer = customers.get(id)!;
        customers.delete(id);
        gone.push(id);
        return customer;
      };

      const insert = () => {
        const isReturn = gone.length > 0 && random.below(3) === 0;
        const id = isReturn ? gone.splice(random.below(gone.length), 1)[0]! : ++lastId;
        const customer = fresh(random, id, n);
        set(customer);
        events.push(made("c", customer, place()));
      };
      const update = (id = someone()) => {
        const { customer, touchesNotes } = changed(random, customers.get(id)!, n);
        set(customer);
        events.push(updated(customer, place(), touchesNotes));
      };
      const remove = () => {
        const { id } = take(someone());
        events.push(...removed(id, place()));
      };
      const changeKey = () => {
        const id = someone();
        // Of one that has moved once in a transaction nobody could tell whether it was overtaken.
        if (moved.has(id)) return update(id);
        const old = take(id);
        const customer = { ...old, id: ++lastId };
        set(customer);
        moved.add(customer.id);
        const at = place();
        events.push(...removed(old.id, at, customer.id), made("c", customer, at, old.id));
      };
      /** `UPDATE customers SET id = ...` of two: one gets the other's key, which has gone on to a new one. */
      const tradePlaces = () => {
        const [a, b] = [someone(), someone()];
        if (a === b) return update(a);
        const first = { ...take(a), id: b };
        const second = { ...customers.get(b)!, id: ++lastId };
        set(first);
        set(second);
        const [at, next] = [place(), place()];
        events.push(...removed(a, at, b), made("c", first, at, a));
        const [removal, tombstone] = removed(b, next, second.id);
        events.push({ ...removal!, effect: null }, tombstone!, made("c", second, next, b));
      };

      const steps = 1 + random.below(3);
      for (let step = 0; step < steps; step++) {
        const kind = random.below(20);
        if (customers.size < SNAPSHOT_CUSTOMERS / 2 || kind < 4) insert();
        else if (kind < 6) remove();
        else if (kind < 7) changeKey();
        else if (kind < 8 && steps === 1) tradePlaces();
        else if (kind < 11) {
          const id = someone();
          for (let i = 0; i < 3; i++) update(id);
        } else update();
      }
      lsn = Math.max(lsn, own) + 16 + random.below(100);
      committed = lsn;
      return events;
    },
  };
}
