/** Answers go from the socket to who waits for them as they are: kafkajs 2.2.4 copies each behind the empty rest of the one before. */

import type { Broker, Connection } from "../cluster.ts";

/** Length, and the number of the request. */
const HEAD_BYTES = 8;

const seen = new WeakSet<Connection>();

/** For the connections of a broker whose sockets bring an answer at a time, whole, its length before it. May be called again. */
export function handOverWhole({ connectionPool }: Pick<Broker, "connectionPool">): void {
  for (const connection of connectionPool.pool) {
    if (seen.has(connection)) continue;
    seen.add(connection);
    const { processData } = connection;
    connection.processData = (answer) => {
      if (connection.authHandlers !== null || answer.length < HEAD_BYTES)
        return processData.call(connection, answer);
      const [size, correlationId] = [answer.readInt32BE(0), answer.readInt32BE(4)];
      connection.requestQueue.fulfillRequest({ correlationId, payload: answer.subarray(HEAD_BYTES), size });
    };
  }
}
