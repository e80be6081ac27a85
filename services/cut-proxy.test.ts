import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { startCutProxy } from "./cut-proxy.ts";

test("it hands on what it is sent, refuses all while it is cut, and goes on when it is mended", async (t) => {
  const server = createServer(
    (request, response) => void response.end(`${request.headers.host} ${request.url}`),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const proxy = await startCutProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => proxy.close());
  const ask = async () => (await fetch(`${proxy.endpoint}/bucket/key`)).text();
  const expected = `${new URL(proxy.endpoint).host} /bucket/key`;
  assert.equal(await ask(), expected, "the Host that a client signed stays");
  proxy.cut();
  await assert.rejects(ask);
  assert.equal(proxy.isCut(), true);
  proxy.mend();
  assert.equal(await ask(), expected);
});
