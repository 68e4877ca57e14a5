import assert from "node:assert/strict";
import { test } from "node:test";
import { Page } from "../src/core/page";

/** A stand-in for the element at a place in the page. */
const element = (place: number): Element =>
  ({ place, compareDocumentPosition: (other: any) => (other.place > place ? 4 : 2) }) as any;

test("lists choose in the order of the page, whichever asks first", async () => {
  const page = new Page();
  const second = page.join(element(2), false);
  const first = page.join(element(1), false);
  const bundle = page.join(element(3), true);
  const inOrder = [bundle, first, second];
  for (const [at, list] of inOrder.entries()) {
    assert.deepEqual(new Set(page.before(list)), new Set(inOrder.slice(0, at)));
  }

  const chosen: string[] = [];
  const choose = async (list: typeof first, name: string): Promise<void> => {
    list.ids = [`${await page.taken(list)}+${name}`];
    chosen.push(name);
    list.end();
  };
  await Promise.all([choose(second, "b"), choose(first, "a"), choose(bundle, "buy")]);

  assert.deepEqual(chosen, ["buy", "a", "b"]);
});

test("a list that the shop's server has rendered makes no other wait", async () => {
  const page = new Page();
  page.join(element(1), true, ["p1"]);
  const began = performance.now();

  assert.deepEqual(await page.taken(page.join(element(2), false)), ["p1"]);
  assert.ok(performance.now() - began < 400);
});

test("a list does not wait forever for another", async () => {
  const page = new Page();
  page.join(element(1), false);

  assert.deepEqual(await page.taken(page.join(element(2), false)), []);
});
