// Prepares a photo for the service: scaled down in the browser, without the metadata of its file.

import type { Look, Words } from "./config";
import { patience } from "./patience";
import { type Reply, replyOf } from "./reading";
import { turn } from "./turns";

/** The outline of a camera, for `icon`. */
export const CAMERA =
  "M4 8h3l1.5-2.5h7L17 8h3v11H4zM12 10a3.2 3.2 0 1 1 0 6.4 3.2 3.2 0 0 1 0-6.4z";

/** What the script that crops photos adds to the page's global. */
export interface Cropping {
  crop?(photo: Blob, look: Look): Promise<ImageBitmapSource | null>;
}

const LONGEST_SIDE = 1024;
const MOST_BYTES = 380_000;
const PATIENCE_MS = 15_000;

/**
 * Returns a photo as JPEG in base64, upright, of at most 1024 pixels; rejects for other files.
 */
export async function shrink(file: ImageBitmapSource): Promise<string> {
  const picture = await createImageBitmap(file, { imageOrientation: "from-image" });
  const scale = Math.min(1, LONGEST_SIDE / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  const context = canvas.getContext("2d")!;
  context.fillStyle = "#fff"; // the background of transparent pictures
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  picture.close();
  let found = "";
  for (const quality of [0.86, 0.7, 0.5, 0.3]) {
    found = canvas.toDataURL("image/jpeg", quality);
    if (found.length * 0.75 < MOST_BYTES) break;
  }
  return found;
}

/** Posts a photo as plain text, which needs no preflight request. */
export function send(address: string, fields: object, signal: AbortSignal): Promise<Reply> {
  const stop = patience(PATIENCE_MS);
  signal.addEventListener("abort", () => stop.abort());
  return fetch(address, {
    method: "POST",
    body: JSON.stringify(fields),
    credentials: "omit",
    signal: stop.signal,
  })
    .then(replyOf)
    .then(turn);
}

/** Returns the hint for this device: touch screens cannot drop files. */
export function hintOf(words: Words): string {
  return matchMedia("(pointer: coarse)").matches ? words.photo_kept : words.photo_hint;
}

/** Returns what to say of a photo without a reply: only `shrink` and a 4xx blame the file. */
export function failureOf(reason: unknown, words: Words): string {
  return /^(Abort|Type)Error|status (429|5)/.test(`${reason}`) ? words.photo_late : words.photo_failed;
}

/**
 * Calls `taken` with each picture that is chosen, or is dropped on or pasted into the elements;
 * without a picture, with another file, so that it gets its refusal in words.
 */
export function takePhotos(
  chooser: HTMLInputElement,
  around: readonly HTMLElement[],
  taken: (photo: File) => void,
): void {
  const from = (files: FileList | undefined | null): boolean => {
    const given = [...(files ?? [])];
    const photo = given.find((one) => /^image\//.test(one.type)) ?? given[0];
    if (photo) taken(photo);
    return !!photo;
  };
  chooser.addEventListener("change", () => {
    from(chooser.files);
    chooser.value = ""; // the same file may be chosen again
  });
  for (const element of around) {
    element.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
    element.addEventListener("drop", (event) => {
      if (from(event.dataTransfer?.files)) event.preventDefault();
    });
    element.addEventListener("paste", (event) => {
      if (from(event.clipboardData?.files)) event.preventDefault();
    });
  }
}
