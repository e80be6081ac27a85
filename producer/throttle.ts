/** How many messages may go now: a token bucket over a clock that is given. */

export type Throttle = {
  /** Takes up to `wanted` tokens; 0 when there are none yet. */
  take(wanted: number): number;
  /** Ms until the next whole token, but never so few that every message goes alone. */
  waitMs(): number;
};

/** `perSecond` tokens a second, at most a tenth of a second's worth saved up (at least one); undefined: no limit. */
export function throttle(perSecond: number | undefined, now: () => number): Throttle {
  if (perSecond === undefined) return { take: (wanted) => wanted, waitMs: () => 0 };
  const most = Math.max(1, perSecond / 10);
  let tokens = 1;
  let at = now();
  function refill(): void {
    const nowMs = now();
    tokens = Math.min(most, tokens + ((nowMs - at) / 1000) * perSecond!);
    at = nowMs;
  }
  return {
    take(wanted) {
      refill();
      const taken = Math.min(wanted, Math.floor(tokens));
      tokens -= taken;
      return taken;
    },
    waitMs: () => Math.max(10, Math.ceil(((1 - tokens) / perSecond) * 1000)),
  };
}
