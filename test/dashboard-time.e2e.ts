import assert from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import type { Browser } from "playwright-core";
import type { MarkReader } from "../dashboard/tables.ts";
import { type FakeLab, fakeLab } from "./support/fake-lab.ts";
import { serveFakeLab } from "./support/fake-page.ts";
import { type DashboardPage, openBrowser, seriousFindings } from "./support/page.ts";
import { until } from "./support/until.ts";

// The timeline as a user zooms, points and scrubs in it.

let browser: Browser;
before(async () => {
  browser = await openBrowser();
});
after(() => browser.close());

const start = (t: TestContext, lab: FakeLab, marks?: MarkReader) =>
  serveFakeLab(t, browser, lab, marks === undefined ? {} : { marks });

const size = ({ min, max }: { min: number; max: number }) => max - min + 1;

async function windowThat(page: DashboardPage, what: string, is: (min: number, max: number) => boolean) {
  await until(what, async () => {
    const { min, max } = await page.window();
    return is(min, max);
  });
  return page.window();
}

test("a version that is older than those that are there yet can be gone to, and shows once they are", async (t) => {
  const { open } = await start(t, fakeLab(900));
  const page = await open("/t/orders");
  await page.showsVersion((version) => version === 900);
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  await page.page.route("**/history?*before=*", async (route) => {
    await held;
    await route.continue();
  });
  await page.page.reload();
  await page.showsVersion((version) => version === 900);
  assert.doesNotMatch(await page.text("#legend"), /no longer in the log/);
  await page.page.locator("#goto-version").fill("7");
  await page.page.keyboard.press("Enter");
  await page.isAt(/\?version=7$/);
  assert.equal(await page.text("#goto-problem"), "");
  goOn();
  await page.showsVersion((version) => version === 7);
});

test("a long history shows as many versions as can be told apart, and buttons, keys and wheel zoom it", async (t) => {
  const { open, lab } = await start(t, fakeLab(900));
  const page = await open("/t/orders");
  await page.showsVersion((version) => version === 900);
  const fitting = await windowThat(page, "the newest versions", (min, max) => max === 900 && min > 0);
  await page.page.locator("#zoom-all").click();
  await windowThat(page, "all versions", (min, max) => min === 0 && max === 900);
  assert.equal(await page.page.locator("#zoom-all").getAttribute("aria-pressed"), "true");
  await page.press("+");
  const half = await windowThat(page, "half of them", (min) => min > 0);
  assert.ok(Math.abs(size(half) - 450) <= 1);
  assert.equal(half.max, 900, "the cursor stays in sight");
  await page.press("-");
  await windowThat(page, "all again", (min) => min === 0);
  await page.press("0");
  assert.deepEqual(await windowThat(page, "what fits", (min) => min > 0), fitting);

  const box = (await page.page.locator("#strip").boundingBox())!;
  await page.page.mouse.move(box.x + box.width / 2, box.y + 40);
  await page.page.mouse.wheel(0, -300);
  const near = await windowThat(page, "fewer by the wheel", (min, max) => max - min + 1 < size(fitting));
  const middle = (span: { min: number; max: number }) => (span.min + span.max) / 2;
  assert.ok(Math.abs(middle(near) - middle(fitting)) <= 2, "what is under the pointer stays there");
  await page.page.mouse.wheel(-400, 0);
  await windowThat(page, "older ones", (min, max) => min < near.min && max - min + 1 === size(near));
  assert.equal(await page.version(), 900, "to look elsewhere moves no cursor");
  lab.commit();
  await page.showsVersion((version) => version === 901);
  assert.ok((await page.window()).max < 900, "and a new version does not take the look away");
  assert.deepEqual(page.complaints, []);
});

test("the strip below shows all versions and goes anywhere, at 360 px too; the timeline follows", async (t) => {
  const { open } = await start(t, fakeLab(900));
  for (const width of [1280, 360]) {
    const page = await open("/t/orders", { width });
    await page.showsVersion((version) => version === 900);
    await until("the whole history", async () => {
      await page.press("Home");
      return (await page.version()) === 0;
    });
    await page.press("l");
    await page.showsVersion((version) => version === 900);
    const overview = page.page.locator("#overview");
    await overview.scrollIntoViewIfNeeded();
    const box = (await overview.boundingBox())!;
    const at = (share: number) => [box.x + 22 + share * (box.width - 44), box.y + box.height / 2] as const;
    await page.page.mouse.click(...at(0.5));
    const there = await page.showsVersion((version) => Math.abs(version - 450) <= 3);
    await windowThat(page, "the middle", (min, max) => min <= there && there <= max && max < 900);
    await page.page.mouse.move(...at(0.5));
    await page.page.mouse.down();
    await page.page.mouse.move(...at(0), { steps: 6 });
    await page.page.mouse.up();
    await page.showsVersion((version) => version === 0);
    await windowThat(page, "the oldest", (min, max) => min === 0 && max < 900);
    await page.isAt(/version=0$/);
    // Each version has a few pixels: one to the right is one version more, or the next.
    const { min, max } = await page.window();
    assert.ok((width - 100) / (max - min) > 3, `${max - min} versions at ${width} px`);
    await page.press("ArrowRight", 2);
    await page.showsVersion((version) => version === 2);
    await page.close();
  }
});

test("two fingers zoom, and the version stays where it was", async (t) => {
  const { open } = await start(t, fakeLab(300));
  const page = await open("/t/orders?version=150", { width: 800 });
  await page.showsVersion((version) => version === 150);
  await page.page.locator("#strip").scrollIntoViewIfNeeded();
  const box = (await page.page.locator("#strip").boundingBox())!;
  const before = await page.window();
  const touch = await page.page.context().newCDPSession(page.page);
  await touch.send("Emulation.setTouchEmulationEnabled", { enabled: true, maxTouchPoints: 2 });
  const y = box.y + 40;
  const fingers = (apart: number) =>
    [-apart, apart].map((by, id) => ({ x: box.x + box.width / 2 + by, y, id }));
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: fingers(40).slice(0, 1) });
  await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: fingers(40) });
  for (const apart of [60, 80, 100, 120])
    await touch.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: fingers(apart) });
  await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  await windowThat(page, "fewer versions", (min, max) => max - min < (before.max - before.min) / 2);
});

test("a version tells its bytes and how long it took, beside the pointer, in the line and to be read aloud; bars do by choice", async (t) => {
  const { open } = await start(t, fakeLab(40));
  const page = await open("/t/orders?version=8");
  await page.showsVersion((version) => version === 8);
  assert.match(await page.text("#version-line"), /3 files in \(43\.0 KiB\) · took 38 ms/);
  const spoken = await page.page.locator("#scrubber").getAttribute("aria-valuetext");
  assert.match(spoken!, /^Version 8, .*43\.0 KiB, took 38 ms, .*UTC$/);
  const box = (await page.page.locator("#strip").boundingBox())!;
  await page.page.mouse.move(box.x + 22 + (box.width - 44) / 4, box.y + 40);
  const tip = page.page.locator("#strip-tip");
  await until("the version pointed at", async () => /^Version 10/.test((await tip.textContent()) ?? ""));
  assert.match((await tip.textContent())!, /170 rows added.*3 files in \(43\.9 KiB\).*took 40 ms/);
  assert.equal(await page.version(), 8, "to point is not to go");
  await page.page.mouse.move(5, 5);
  await until("nothing pointed at", async () => !(await tip.isVisible()));
  const looks = new Set([await page.stripPixels()]);
  for (const measure of ["bytes", "duration"]) {
    await page.page.getByLabel("Height").selectOption(measure);
    looks.add(await page.stripPixels());
  }
  assert.equal(looks.size, 3, "rows, bytes and duration are three pictures");
});

test("checkpoints and versions whose files are gone are marked, and said of the version", async (t) => {
  const marks: MarkReader = async () => ({ checkpoints: [10, 20], unreadable: [[0, 4]] });
  const plain = await (await start(t, fakeLab(20))).open("/t/orders?version=12");
  await plain.showsVersion((version) => version === 12);
  const { open } = await start(t, fakeLab(20), marks);
  const page = await open("/t/orders?version=12", { bypassCSP: true });
  await page.showsVersion((version) => version === 12);
  await until("the legend", async () => /checkpoint.*cannot be read/.test(await page.text("#legend")));
  assert.notEqual(await page.stripPixels(), await plain.stripPixels());
  assert.doesNotMatch(await page.text("#version-line"), /checkpoint|files are gone/);
  await page.press("ArrowLeft", 2);
  await until("the checkpoint", async () => /· checkpoint ·/.test(await page.text("#version-line")));
  await page.press("Home");
  await until("the loss", async () =>
    /its files are gone: cannot be read/.test(await page.text("#version-line")),
  );
  assert.deepEqual(await seriousFindings(page.page), []);
});

test("rows that are still those of another version are paler, and can be read", async (t) => {
  const lab = fakeLab(20);
  const rows = lab.tables.rows;
  let release = () => {};
  const waiting = new Promise<void>((resolve) => {
    release = resolve;
  });
  t.after(release);
  lab.tables.rows = async (name, version, ...rest) => {
    if (version < 20) await waiting;
    return rows(name, version, ...rest);
  };
  const { open } = await start(t, lab);
  for (const theme of ["light", "dark"] as const) {
    const page = await open("/t/orders", { bypassCSP: true, theme });
    await page.showsVersion((version) => version === 20);
    const colour = () =>
      page.page.evaluate<string>(
        `getComputedStyle(document.querySelector(".panel .grid td:not(.null)")).color`,
      );
    const before = await colour();
    await page.press("ArrowLeft");
    await until("paler rows", async () => (await colour()) !== before);
    assert.deepEqual(await seriousFindings(page.page), [], theme);
  }
});

test("a link into a long past survives reload: no newer version is shown before the log is read whole", async (t) => {
  const lab = fakeLab(900);
  const asked: number[] = [];
  const rows = lab.tables.rows;
  lab.tables.rows = (name, version, ...rest) => {
    asked.push(version);
    return rows(name, version, ...rest);
  };
  const { open } = await start(t, lab);
  const page = await open("/t/orders?version=5");
  await page.showsVersion((version) => version === 5);
  await page.reload();
  await page.showsVersion((version) => version === 5);
  const { min, max } = await page.window();
  assert.ok(min <= 5 && 5 <= max);
  assert.ok(
    asked.every((version) => version < 10),
    `asked for ${asked}`,
  );
  assert.equal(await page.page.locator("#notice").isVisible(), false);
});

for (const width of [1280, 360])
  test(`at ${width} px the page does not move under the reader while numbers grow and change their words`, async (t) => {
    const { open, lab } = await start(t, fakeLab());
    const page = await open("/t/orders", { width });
    await page.showsVersion((version) => version === 12);
    const places = () =>
      page.page.evaluate(
        `JSON.stringify([...document.querySelectorAll("main > *, main section, .stations > li, .tabs")].map((e) => { const { x, y, width, height } = e.getBoundingClientRect(); return [e.className, x, y + scrollY, width, height]; }))`,
      );
    await until("the flow", async () => /orders/.test(await page.text("#stations")));
    const before = await places();
    for (const [records, fault] of [
      [7, "running"],
      [123_456_789, "paused"],
      [1_000, "frozen"],
      [0, "running"],
    ] as const) {
      lab.produce(records);
      lab.faults.ingester = fault;
      const lag = new RegExp(`lag ${fault === "frozen" ? ".*not answering" : ""}`);
      await until(`the flow while ${fault}`, async () => lag.test(await page.text("#stations")));
      lab.commit(records + 1);
      await page.showsVersion((version) => version === lab.latest());
      assert.equal(await places(), before, `${records} records, ${fault}`);
    }
    assert.ok((await page.layoutShift()) < 0.01, `moved by ${await page.layoutShift()}`);
  });

test("at 360 px tabs out of sight show by a fade at their edge, and the chosen one is brought into sight", async (t) => {
  const { open } = await start(t, fakeLab());
  const page = await open("/t/orders", { width: 360 });
  await page.showsVersion((version) => version === 12);
  const tabs = page.page.getByRole("tablist");
  const more = () => tabs.getAttribute("data-more");
  assert.equal(await more(), "right");
  await page.page.getByRole("tab", { name: "Compare" }).click();
  await until("both edges", async () => (await more()) === "left right");
  await page.page.goto(page.page.url().replace(/compare.*/, "break"));
  await until("the left edge alone", async () => (await more()) === "left");
  const [list, chosen] = [
    (await tabs.boundingBox())!,
    (await page.page.getByRole("tab", { name: "Break it" }).boundingBox())!,
  ];
  assert.ok(
    chosen.x >= list.x && chosen.x + chosen.width <= list.x + list.width + 1,
    "the last one is in sight",
  );
  const wide = await open("/t/orders", { width: 1280 });
  await wide.showsVersion((version) => version === 12);
  assert.equal(await wide.page.getByRole("tablist").getAttribute("data-more"), null);
});
