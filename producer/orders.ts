/** Orders of a small shop as JSON: nested, with optional fields, umlauts and money, from a seed. */

import { type Random, randomAt } from "./random.ts";
import type { Message, MessageSource } from "./source.ts";

const COUNTRIES = {
  DE: "EUR",
  FR: "EUR",
  IT: "EUR",
  ES: "EUR",
  US: "USD",
  GB: "GBP",
  JP: "JPY",
  SE: "SEK",
} as const;
const FIRST = ["Ada", "Grace", "Jürgen", "Søren", "María", "Zoë", "美咲", "Łukasz", "Noor", "Edsger"];
const LAST = [
  "Lovelace",
  "Hopper",
  "Groß",
  "Kierkegaard",
  "Núñez",
  "Brontë",
  "佐藤",
  "Wałęsa",
  "Haddad",
  "Dijkstra",
];
const GOODS = [
  { sku: "TEA-001", name: "Darjeeling, 100 g", cents: 890 },
  { sku: "TEA-002", name: "Gyokuro, 50 g", cents: 2450 },
  { sku: "CUP-010", name: "Cup, blue", cents: 1200 },
  { sku: "POT-020", name: "Teapot, cast iron", cents: 5990 },
  { sku: "CAK-100", name: "Käsekuchen", cents: 1850 },
  { sku: "SUG-007", name: "Kandis, 500 g", cents: 349 },
];
const STATUS = ["placed", "placed", "placed", "paid", "paid", "shipped", "cancelled"];

const FIRST_ORDER_MS = Date.UTC(2026, 0, 1);
const ORDER_EVERY_MS = 1_000;

/** The `index`-th order of `seed`: the same wherever and whenever it is made. One a second is placed, from the first of January 2026 on. */
export function order(seed: number, index: number): Record<string, unknown> {
  const random = randomAt(seed, index);
  const country = random.pick(Object.keys(COUNTRIES) as (keyof typeof COUNTRIES)[]);
  const items = Array.from({ length: 1 + random.below(4) }, () => item(random));
  const cents = items.reduce((sum, { quantity, cents }) => sum + quantity * cents, 0);
  return {
    order_id: index,
    customer: {
      id: 1 + random.below(5000),
      name: `${random.pick(FIRST)} ${random.pick(LAST)}`,
      country,
      ...(random.below(3) === 0 ? { newsletter: random.below(2) === 0 } : {}),
    },
    items: items.map(({ cents, ...rest }) => ({ ...rest, price: cents / 100 })),
    amount: cents / 100,
    currency: COUNTRIES[country],
    status: random.pick(STATUS),
    placed_at: new Date(FIRST_ORDER_MS + index * ORDER_EVERY_MS + random.below(ORDER_EVERY_MS)).toISOString(),
    ...(random.below(5) === 0 ? { coupon: `TEA${random.below(90) + 10}` } : {}),
    ...(random.below(9) === 0
      ? { note: random.pick(["Bitte klingeln ☎", "gift wrap, please", "très fragile"]) }
      : {}),
  };
}

function item(random: Random): { sku: string; name: string; quantity: number; cents: number } {
  const { sku, name, cents } = random.pick(GOODS);
  return { sku, name, quantity: 1 + random.below(3), cents };
}

/** Keyed by customer, so that a customer's orders keep their order. */
export function ordersSource(seed: number): MessageSource {
  function message(index: number): Message {
    const made = order(seed, index);
    return { key: String((made.customer as { id: number }).id), value: JSON.stringify(made) };
  }
  return {
    name: "orders",
    isEndless: true,
    *messages(from) {
      for (let index = from; ; index++) yield message(index);
    },
  };
}
