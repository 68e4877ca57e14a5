// The frame of a photo: where it lies, in shares of the upright photo's width and height.

export interface Frame {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export const WHOLE: Frame = { x: 0, y: 0, width: 1, height: 1 };

/** The shortest side of a frame: what is smaller shows too little to search for. */
export const LEAST = 0.1;

const within = (value: number, from: number, to: number): number =>
  Math.min(Math.max(value, from), to);

/** Returns a frame moved by shares of the photo, within it. */
export function moved({ x, y, width, height }: Frame, dx: number, dy: number): Frame {
  return { x: within(x + dx, 0, 1 - width), y: within(y + dy, 0, 1 - height), width, height };
}

/**
 * Returns a frame with one of its corners dragged: `left` and `top` say which. The opposite
 * corner stays.
 */
export function resized(frame: Frame, left: boolean, top: boolean, dx: number, dy: number): Frame {
  const [x, width] = stretched(frame.x, frame.width, left, dx);
  const [y, height] = stretched(frame.y, frame.height, top, dy);
  return { x, y, width, height };
}

function stretched(start: number, length: number, isStart: boolean, by: number): [number, number] {
  const end = start + length;
  if (!isStart) return [start, within(end + by, start + LEAST, 1) - start];
  const from = within(start + by, 0, end - LEAST);
  return [from, end - from];
}

/** Returns the frame of the same part of a photo that was turned to the right. */
export function turned({ x, y, width, height }: Frame): Frame {
  return { x: 1 - y - height, y: x, width: height, height: width };
}
