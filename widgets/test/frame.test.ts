import assert from "node:assert/strict";
import { test } from "node:test";

import { LEAST, WHOLE, moved, resized, turned } from "../src/crop/frame";

const QUARTER = { x: 0.25, y: 0.5, width: 0.5, height: 0.25 };

test("a frame is moved within the photo", () => {
  assert.deepEqual(moved(QUARTER, 0.25, -0.25), { ...QUARTER, x: 0.5, y: 0.25 });
  assert.deepEqual(moved(QUARTER, 9, -9), { ...QUARTER, x: 0.5, y: 0 });
});

test("the opposite corner stays, and a frame keeps its least size", () => {
  assert.deepEqual(resized(WHOLE, false, true, -0.25, 0.5), { x: 0, y: 0.5, width: 0.75, height: 0.5 });
  const small = resized(QUARTER, true, false, 9, -9);
  assert.ok(Math.abs(small.width - LEAST) < 1e-9 && Math.abs(small.height - LEAST) < 1e-9);
  assert.ok(Math.abs(small.x + small.width - 0.75) < 1e-9);
});

test("four turns lead back", () => {
  assert.deepEqual(turned(QUARTER), { x: 0.25, y: 0.25, width: 0.25, height: 0.5 });
  assert.deepEqual(turned(turned(turned(turned(QUARTER)))), QUARTER);
});
