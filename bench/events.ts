/** Web-shop events as JSON, from a seed: the work that the benchmarks are measured on. Fields and odds are those of a Java generator that peers are measured with. */

/** `1k`, `2k`, `3k`: nested events of about 978, 2,190 and 3,000 bytes, which differ in title and items alone; `tiny`: four fields, 104 bytes. */
export const EVENT_SIZES = ["tiny", "1k", "2k", "3k"] as const;
export type EventSize = (typeof EVENT_SIZES)[number];

const TYPES = ["page_view", "click", "scroll", "add_to_cart", "purchase", "search", "login", "logout"];
const COUNTRIES = ["DE", "US", "FR", "GB", "IN", "BR", "JP", "ES", "IT", "NL", "SE", "PL"];
const SYSTEMS = ["Windows", "macOS", "Linux", "iOS", "Android"];
const BROWSERS = ["Chrome", "Firefox", "Safari", "Edge"];
const PLAIN_WORDS =
  "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua".split(
    " ",
  );
const WORDS = [...PLAIN_WORDS, "größe", "naïve", "shoes", "jacket", "summer", "winter", "sale"];
const TAGS = "web mobile promo ab-test-a ab-test-b new returning vip newsletter organic paid social".split(
  " ",
);

/** Words of a title; the least number of items and how many more there may be. An event of 1k has one item in three times. */
const LARGE = { "2k": { words: 36, items: 10 }, "3k": { words: 36, items: 21 } } as const;

/** Time of the first event, ms. Long past, so that no broker takes a record for one of the future. */
const START_MS = Date.UTC(2025, 10, 25, 8);
/** Events are this far apart: a million of them span less than six hours of one date. */
export const EVENT_STEP_MS = 20;

/** Time of the event `index`: its own `timestamp`, and the record's. */
export const eventTimeMs = (index: number) => START_MS + index * EVENT_STEP_MS;

/** `event(i)` is the i-th message: the same for the same seed and size, in any order of calls that counts up. */
export function eventSource(seed: number, size: EventSize = "1k"): (index: number) => string {
  const random = randomFrom(seed);
  const { below, pick, hex, uuid } = random;
  const agents = Array.from(
    { length: 200 },
    () =>
      `Mozilla/5.0 (${pick(SYSTEMS)} NT 10.0; Win64; x64) AppleWebKit/537.${below(40)} (KHTML, like Gecko) ` +
      `Chrome/${90 + below(50)}.0.${below(6000)}.${below(200)} Safari/537.${below(40)}`,
  );
  if (size === "tiny")
    return () =>
      `{"Key1":"${hex(16)}","Key2":${below(1_000_000)},"Key3":"2025-11-25T${10 + below(10)}:${10 + below(50)}:${10 + below(50)}Z",` +
      `"Key4":{"a":"${hex(8)}","b":${below(100)}.5}}`;

  const words = (count: number) => Array.from({ length: count }, () => pick(WORDS)).join(" ");
  const plainWord = () => pick(PLAIN_WORDS);
  const money = (max: number) => (below(max * 100) / 100).toFixed(2);
  const flag = (oneIn: number) => below(oneIn) === 0;
  const iso = (ms: number) => new Date(ms).toISOString();
  const times = (count: number, one: () => string) => Array.from({ length: count }, one).join(",");
  const age = () => (below(10) < 7 ? `,"age":${18 + below(60)}` : flag(2) ? ',"age":null' : "");
  const referrer = () =>
    flag(4) ? "null" : `"https://www.google.com/search?q=${plainWord()}+${plainWord()}"`;
  const special = () => (flag(20) ? ' \\"special\\" \\u20ac' : "");
  const item = () =>
    `{"sku":"SKU-${100_000 + below(90_000)}","name":"${words(2 + below(3))}","qty":${1 + below(5)},"price":${money(500)}}`;
  const titleWords = size === "1k" ? 6 : LARGE[size].words;
  const itemCount = () => (size === "1k" ? (flag(3) ? 1 : 0) : LARGE[size].items + below(10));

  return (index) => {
    const atMs = eventTimeMs(index);
    return (
      `{"event_id":"${uuid()}","event_type":"${pick(TYPES)}","timestamp":"${iso(atMs)}","received_at":"${iso(atMs + below(900))}","seq":${index},` +
      `"user":{"id":${1_000_000 + below(500_000)},"anonymous_id":"${uuid()}","country":"${pick(COUNTRIES)}","is_logged_in":${flag(2)}${age()}},` +
      `"session":{"id":"${uuid()}","started_at":"${iso(atMs - below(3_600_000))}","page_count":${below(40)},"duration_ms":${below(3_600_000)}},` +
      `"page":{"url":"https://shop.example.com/c/${plainWord()}/p/${below(100_000)}?utm_source=${pick(TAGS)}&ref=${hex(12)}",` +
      `"path":"/c/${plainWord()}/p/${below(100_000)}","referrer":${referrer()},"title":"${words(titleWords)}${special()}"},` +
      `"device":{"user_agent":"${pick(agents)}","os":"${pick(SYSTEMS)}","browser":"${pick(BROWSERS)}","screen_width":${800 + below(20) * 80},` +
      `"screen_height":${600 + below(20) * 60},"pixel_ratio":${(1 + below(3) * 0.5).toFixed(1)}},` +
      `"tags":[${times(below(5), () => `"${pick(TAGS)}"`)}],"items":[${times(itemCount(), item)}],` +
      `"score":${below(1_000_000) / 1_000_000},"amount":${money(2000)},"is_bot":${flag(50)}}`
    );
  };
}

function randomFrom(seed: number) {
  let state = (seed >>> 0) + 0x9e3779b9;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number) => next() % limit;
  const hex = (digits: number) => {
    let text = "";
    while (text.length < digits) text += next().toString(16).padStart(8, "0");
    return text.slice(0, digits);
  };
  return {
    below,
    hex,
    pick: (items: readonly string[]) => items[below(items.length)] as string,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  };
}
