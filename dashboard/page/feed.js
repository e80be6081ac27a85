/** The one live connection of the page: lost and stale are told, and it comes back by itself. */

const STALE_MS = 15_000;
const DEAD_MS = 30_000;
const HIDDEN_MS = 30_000;
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 15_000];

/**
 * Connects and stays connected. A tab that is hidden for 30 s hangs up; when it is seen again it asks for a fresh snapshot.
 * @param {{ onEvent: (name: string, data: any) => void, onStatus: (connection: import("./state.js").Connection) => void }} told
 */
export function openFeed({ onEvent, onStatus }) {
  /** @type {EventSource | null} */
  let source = null;
  /** @type {import("./state.js").Connection} */
  let connection = { status: "connecting", heardAt: null, retryAt: null };
  let failures = 0;
  let retryTimer = 0;
  let hiddenTimer = 0;

  /** @param {Partial<import("./state.js").Connection>} patch */
  const tell = (patch) => {
    connection = { ...connection, ...patch };
    onStatus(connection);
  };
  const hangUp = () => {
    clearTimeout(retryTimer);
    source?.close();
    source = null;
  };
  const lose = () => {
    hangUp();
    const pause = RETRY_MS[Math.min(failures, RETRY_MS.length - 1)] ?? 0;
    failures += 1;
    retryTimer = window.setTimeout(connect, pause);
    tell({ status: "lost", retryAt: Date.now() + pause });
  };
  const connect = () => {
    hangUp();
    const opened = new EventSource("/api/events");
    source = opened;
    opened.onerror = lose;
    for (const name of ["snapshot", "flow", "tables", "ledger", "alerts", "chaos", "jobs", "heartbeat"])
      opened.addEventListener(name, (event) => {
        failures = 0;
        tell({ status: "live", heardAt: Date.now(), retryAt: null });
        onEvent(name, JSON.parse(event.data));
      });
  };
  const watchSilence = () => {
    if (source === null || connection.heardAt === null) return;
    const silence = Date.now() - connection.heardAt;
    if (silence > DEAD_MS) lose();
    else if (silence > STALE_MS && connection.status === "live") tell({ status: "stale" });
  };

  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiddenTimer);
    if (document.hidden) hiddenTimer = window.setTimeout(hangUp, HIDDEN_MS);
    else if (source === null) connect();
  });
  window.addEventListener("pagehide", hangUp);
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) connect();
  });
  setInterval(watchSilence, 1_000);
  connect();
  return { retryNow: connect };
}
