import assert from "node:assert/strict";
import { test } from "node:test";
import { besideOf } from "./beside.ts";

test("the page and the command line tell alike which table another one belongs to", async () => {
  const page = await import(new URL("../dashboard/page/beside.js", import.meta.url).href);
  const ends = ["", "__deletes", "__dead_letters", "__dead_letters_state", "__other", "__deletes__deletes"];
  for (const names of [[], ["people"], ["people", "people__deletes"], [""]])
    for (const end of ends)
      for (const name of [`people${end}`, `Ünï"t${end}`, end])
        assert.deepEqual(besideOf(name, names), page.besideOf(name, names), `${name} of ${names}`);
});
