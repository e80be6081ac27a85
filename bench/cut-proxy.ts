/** A loopback proxy before a server that can be cut off: everything that is connected ends, and nothing new is taken. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type CutProxy = {
  endpoint: string;
  cut(): void;
  restore(): void;
  close(): Promise<void>;
};

/** Forwards bytes to `upstream`, a server's URL. Whoever starts it closes it. */
export async function startCutProxy(upstream: string): Promise<CutProxy> {
  const { hostname, port } = new URL(upstream);
  const sockets = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
  };
  const server = createServer((client) => {
    keep(client);
    if (isCut) return void client.destroy();
    const onward = connect(Number(port), hostname);
    keep(onward);
    client.pipe(onward).pipe(client);
    client.on("close", () => onward.destroy());
    onward.on("close", () => client.destroy());
  });
  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      cutAll();
    },
    restore() {
      isCut = false;
    },
    async close() {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}
