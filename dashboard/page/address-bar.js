/** The browser's address, kept in line with the page: browsers ignore it when it changes hundreds of times in a few seconds, as in a drag. */

/** A cursor that rests this long is where the user wanted it; one that never rests is written now and then. */
const REST_MS = 50;
const AT_LEAST_EVERY_MS = 500;

export function addressBar() {
  /** @type {string | null} */
  let waiting = null;
  let timer = 0;
  let writtenAt = Number.NEGATIVE_INFINITY;

  const flush = () => {
    clearTimeout(timer);
    if (waiting !== null && waiting !== location.pathname + location.search)
      history.replaceState(null, "", waiting);
    if (waiting !== null) writtenAt = performance.now();
    waiting = null;
  };
  return {
    /** An entry of the browser's history, or with `isQuiet` the last one changed, soon. @param {string} address @param {boolean} isQuiet */
    write(address, isQuiet) {
      if (isQuiet) {
        waiting = address;
        clearTimeout(timer);
        const lateMs = performance.now() - writtenAt;
        timer = window.setTimeout(
          flush,
          lateMs > AT_LEAST_EVERY_MS ? 0 : Math.min(REST_MS, AT_LEAST_EVERY_MS - lateMs),
        );
        return;
      }
      flush();
      if (address !== location.pathname + location.search) history.pushState(null, "", address);
    },
    /** The browser went to another address: what was to be written is the past's. */
    forget() {
      clearTimeout(timer);
      waiting = null;
    },
  };
}
