/** Web-shop events of about 1 KB of nested JSON, from a seed: the work that the benchmarks are measured on. */

const TYPES = ["page_view", "click", "scroll", "add_to_cart", "purchase", "search", "login", "logout"];
const COUNTRIES = ["DE", "US", "FR", "GB", "IN", "BR", "JP", "ES", "IT", "NL", "SE", "PL"];
const SYSTEMS = ["Windows", "macOS", "Linux", "iOS", "Android"];
const BROWSERS = ["Chrome", "Firefox", "Safari", "Edge"];
const WORDS = [
  "lorem",
  "ipsum",
  "dolor",
  "sit",
  "amet",
  "größe",
  "naïve",
  "shoes",
  "jacket",
  "summer",
  "winter",
  "sale",
];
const TAGS = ["web", "mobile", "promo", "new", "returning", "vip", "newsletter", "organic", "paid", "social"];

/** Time of the first event, ms; events are 20 ms apart, so that a million of them span six hours of one date. */
const START_MS = Date.UTC(2026, 10, 25, 8);

/** `event(i)` is the i-th message: the same for the same seed, in any order of calls that counts up. */
export function eventSource(seed: number): (index: number) => string {
  let state = (seed >>> 0) + 0x9e3779b9;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (limit: number) => next() % limit;
  const pick = (items: readonly string[]) => items[below(items.length)];
  const hex = (digits: number) => {
    let text = "";
    while (text.length < digits) text += next().toString(16).padStart(8, "0");
    return text.slice(0, digits);
  };
  const uuid = () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
  const words = (count: number) => Array.from({ length: count }, () => pick(WORDS)).join(" ");
  const money = (max: number) => below(max * 100) / 100;

  return (index) => {
    const atMs = START_MS + index * 20;
    return JSON.stringify({
      event_id: uuid(),
      event_type: pick(TYPES),
      timestamp: new Date(atMs).toISOString(),
      received_at: new Date(atMs + below(900)).toISOString(),
      seq: index,
      user: {
        id: 1_000_000 + below(500_000),
        anonymous_id: uuid(),
        country: pick(COUNTRIES),
        is_logged_in: below(2) === 0,
        ...(below(10) < 7 ? { age: 18 + below(60) } : {}),
      },
      session: { id: uuid(), page_count: below(40), duration_ms: below(3_600_000) },
      page: {
        url: `https://shop.example.com/c/${pick(WORDS)}/p/${below(100_000)}?utm_source=${pick(TAGS)}&ref=${hex(12)}`,
        referrer: below(4) === 0 ? null : `https://www.example.org/search?q=${pick(WORDS)}+${pick(WORDS)}`,
        title: words(25),
      },
      device: {
        user_agent: `Mozilla/5.0 (${pick(SYSTEMS)}; x64) AppleWebKit/537.${below(40)} Chrome/${90 + below(50)}.0.${below(6000)}.1`,
        os: pick(SYSTEMS),
        browser: pick(BROWSERS),
        screen_width: 800 + below(20) * 80,
        pixel_ratio: 1 + below(3) * 0.5,
      },
      tags: Array.from({ length: below(5) }, () => pick(TAGS)),
      items: Array.from({ length: below(3) === 0 ? 1 : 0 }, () => ({
        sku: `SKU-${100_000 + below(90_000)}`,
        name: words(3),
        qty: 1 + below(5),
        price: money(500),
      })),
      score: below(1_000_000) / 1_000_000,
      amount: money(2000),
      is_bot: below(50) === 0,
    });
  };
}
