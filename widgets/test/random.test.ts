import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import test from "node:test";
import { randomName } from "../src/core/random";

globalThis.crypto ??= webcrypto as Crypto;

test("a name has the wanted letters and digits, and no other", () => {
  for (const length of [1, 20, 24, 99]) {
    assert.match(randomName(length), new RegExp(`^[A-Za-z0-9]{${length}}$`));
  }
});

test("no name comes twice, and every sign comes as often as any other", () => {
  const names = Array.from({ length: 2_000 }, () => randomName(24));
  assert.equal(new Set(names).size, names.length);
  const counts = new Map<string, number>();
  for (const sign of names.join("")) counts.set(sign, (counts.get(sign) ?? 0) + 1);
  assert.equal(counts.size, 62);
  const mean = 48_000 / 62;
  for (const count of counts.values()) assert.ok(Math.abs(count - mean) < mean / 4);
});
