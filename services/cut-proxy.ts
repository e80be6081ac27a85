/** A loopback proxy that can be cut like a cable: what goes through it is the bytes of its connections, unread. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type CutProxy = {
  /** What clients use instead of the server's own endpoint. */
  endpoint: string;
  /** Breaks all connections, and each new one at once, until `mend`. */
  cut(): void;
  mend(): void;
  isCut(): boolean;
  close(): Promise<void>;
};

/** In front of `upstream`, an http endpoint. Whoever starts it closes it. */
export async function startCutProxy(upstream: string): Promise<CutProxy> {
  const { hostname, port, protocol } = new URL(upstream);
  const target = { host: hostname, port: Number(port || (protocol === "https:" ? 443 : 80)) };
  const sockets = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
  };
  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const onward = connect(target);
    keep(client);
    keep(onward);
    client.on("close", () => onward.destroy());
    onward.on("close", () => client.destroy());
    client.pipe(onward).pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const breakAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    endpoint: `${protocol}//127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      breakAll();
    },
    mend() {
      isCut = false;
    },
    isCut: () => isCut,
    async close() {
      breakAll();
      server.close();
      await once(server, "close");
    },
  };
}
