/** The dashboard over a fake lab, and pages of it in a real browser. */

import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { Browser } from "playwright-core";
import { silentLog } from "../../core/log.ts";
import { createDashboard, type DashboardOptions } from "../../dashboard/server.ts";
import { type FakeLab, fakeLab } from "./fake-lab.ts";
import { openPage, type PageOptions } from "./page.ts";

/** Everything ends with the test. `stop` cuts the server off, `startAgain` brings it back at the same port. */
export async function serveFakeLab(
  t: TestContext,
  browser: Browser,
  lab: FakeLab = fakeLab(),
  options: Pick<DashboardOptions, "marks"> = {},
) {
  const app = createDashboard({
    ...{ tables: lab.tables, control: lab.control, token: "secret", log: silentLog },
    ...{ allowedHosts: ["127.0.0.1"], ...options },
  });
  const listen = (port: number) => {
    const server = app.listen(port, "127.0.0.1");
    return new Promise<typeof server>((resolve) => server.once("listening", () => resolve(server)));
  };
  let server = await listen(0);
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.close();
    server.closeAllConnections();
  };
  t.after(stop);
  return {
    ...{ lab, stop },
    async startAgain() {
      server = await listen(port);
    },
    async open(path: string, options?: PageOptions) {
      const opened = await openPage(browser, `http://127.0.0.1:${port}${path}`, options);
      t.after(opened.close);
      return opened;
    },
  };
}
