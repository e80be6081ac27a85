/** Requests that several wait for and one makes. */

import { setMaxListeners } from "node:events";

export type Flights<K, T> = {
  /**
   * The outcome of `start`, which runs once for all who ask for `key` while it runs. A signal ends the wait of its own caller; `start` is
   * aborted when nobody waits any more.
   */
  join(key: K, start: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>;
};

type Flight<T> = { outcome: Promise<T>; waiting: number; controller: AbortController };

export function createFlights<K, T>(): Flights<K, T> {
  const flights = new Map<K, Flight<T>>();

  function take(key: K, start: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const running = flights.get(key);
    if (running) return running;
    const controller = new AbortController();
    const flight: Flight<T> = { outcome: start(controller.signal), waiting: 0, controller };
    flights.set(key, flight);
    const land = () => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    flight.outcome.then(land, land);
    return flight;
  }

  return {
    async join(key, start, signal) {
      signal.throwIfAborted();
      // Many waits on one signal are no leak.
      setMaxListeners(0, signal);
      const flight = take(key, start);
      flight.waiting++;
      let leave = () => {};
      const left = new Promise<never>((_, reject) => {
        leave = () => reject(signal.reason);
        signal.addEventListener("abort", leave, { once: true });
      });
      try {
        return await Promise.race([flight.outcome, left]);
      } finally {
        signal.removeEventListener("abort", leave);
        flight.waiting--;
        if (flight.waiting === 0) {
          // Who comes after this starts anew instead of joining what is being aborted.
          if (flights.get(key) === flight) flights.delete(key);
          flight.controller.abort();
        }
      }
    },
  };
}
