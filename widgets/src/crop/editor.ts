// A dialog with the photo, a frame to drag, and a button that turns it.
//
// The browser's own dialog keeps the focus and closes with Escape. Arrow keys move the frame,
// with Shift they move its lower right corner.

import type { Look } from "../core/config";
import { draw, icon, style } from "../core/drawing";
import styles from "./crop.css";
import { type Frame, WHOLE, moved, resized, turned } from "./frame";

const LONGEST_SIDE = 2048;
const STEP = 0.02;
const TURN = "M20 4v5h-5M19.5 9A8 8 0 1 0 20 14";
const ARROWS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-STEP, 0],
  ArrowRight: [STEP, 0],
  ArrowUp: [0, -STEP],
  ArrowDown: [0, STEP],
};
const CORNERS = [[true, true], [false, true], [true, false], [false, false]] as const;

/**
 * Returns the part of a photo that the shopper chooses, upright; null when they close the dialog.
 * Rejects where the browser cannot read the file.
 */
export async function editPhoto(photo: Blob, look: Look): Promise<ImageBitmapSource | null> {
  const picture = await decode(photo);
  style(document, styles, look.custom_css);
  const editor = new Editor(picture, look);
  document.body.append(editor.dialog);
  editor.dialog.showModal();
  await new Promise((closed) => editor.dialog.addEventListener("close", closed));
  editor.dialog.remove();
  return editor.dialog.returnValue ? editor.chosen() : null;
}

/** Returns the upright picture of a file; some browsers read HEIC as an image only. */
async function decode(file: Blob): Promise<ImageBitmap | HTMLImageElement> {
  try {
    return await createImageBitmap(file, { imageOrientation: "from-image" });
  } catch {
    const image = new Image();
    image.src = URL.createObjectURL(file);
    await image.decode().finally(() => URL.revokeObjectURL(image.src));
    return image;
  }
}

class Editor {
  readonly dialog: HTMLDialogElement;
  private readonly canvas_ = draw("canvas", {});
  private readonly frame_: HTMLElement;
  private readonly stage_: HTMLElement;
  private at_ = WHOLE;

  constructor(picture: ImageBitmap | HTMLImageElement, { strings, theme }: Look) {
    this.frame_ = draw(
      "div",
      { class: "pr-crop-frame", tabindex: "0", role: "group", "aria-label": strings.photo_frame },
      ...CORNERS.map(([left, top]) => this.handle_(left, top)),
    );
    this.stage_ = draw("div", { class: "pr-crop-stage" }, this.canvas_, this.frame_);
    const turn = this.button_("pr-crop-turn", icon(TURN), strings.photo_turn);
    const close = this.button_("", null, strings.close);
    const find = this.button_("pr-crop-find", null, strings.photo_find);
    const foot = draw("div", { class: "pr-crop-foot" }, turn, close, find);
    const head = draw("p", { class: "pr-crop-head" }, strings.photo_crop);
    this.dialog = draw("dialog", { class: "pr-crop", "aria-label": strings.photo_crop }, head, this.stage_, foot);
    if (theme !== "auto") this.dialog.style.colorScheme = theme;
    turn.addEventListener("click", () => this.turn_());
    close.addEventListener("click", () => this.dialog.close());
    find.addEventListener("click", () => this.dialog.close("find"));
    this.frame_.addEventListener("keydown", (event) => this.pressed_(event));
    this.drags_(this.frame_, moved);
    this.drawPicture_(picture);
  }

  /** Returns the framed part. */
  chosen(): HTMLCanvasElement {
    const { x, y, width, height } = this.at_;
    const from = this.canvas_;
    const sides = [width * from.width, height * from.height].map((side) => Math.max(8, Math.round(side)));
    const made = draw("canvas", {});
    [made.width, made.height] = sides as [number, number];
    made.getContext("2d")!.drawImage(from, -Math.round(x * from.width), -Math.round(y * from.height));
    return made;
  }

  private button_(kind: string, picture: Node | null, text: string): HTMLButtonElement {
    return draw("button", { class: `pr-crop-button ${kind}`, type: "button" }, picture, draw("span", {}, text));
  }

  private handle_(left: boolean, top: boolean): HTMLElement {
    const handle = draw("span", { class: "pr-crop-corner" });
    handle.style[left ? "left" : "right"] = handle.style[top ? "top" : "bottom"] = "-22px";
    handle.style.cursor = left === top ? "nwse-resize" : "nesw-resize";
    this.drags_(handle, (frame, dx, dy) => resized(frame, left, top, dx, dy));
    return handle;
  }

  /** Lets a pointer drag an element; `change` gets how far, in shares of the photo. */
  private drags_(element: HTMLElement, change: (frame: Frame, dx: number, dy: number) => Frame): void {
    element.addEventListener("pointerdown", (down) => {
      const before = this.at_;
      const { width, height } = this.stage_.getBoundingClientRect();
      down.stopPropagation();
      down.preventDefault();
      this.frame_.focus();
      element.setPointerCapture(down.pointerId);
      element.onpointermove = (move) => {
        const [dx, dy] = [move.clientX - down.clientX, move.clientY - down.clientY];
        this.put_(change(before, dx / width, dy / height));
      };
      element.onlostpointercapture = () => (element.onpointermove = null);
    });
  }

  private pressed_(event: KeyboardEvent): void {
    const by = ARROWS[event.key] as readonly [number, number] | undefined;
    const isDone = event.key === "Enter";
    if (!by && !isDone) return;
    event.preventDefault(); // Enter would go on to the search box, which gets the focus
    if (!by) return this.dialog.close("find");
    this.put_(event.shiftKey ? resized(this.at_, false, false, ...by) : moved(this.at_, ...by));
  }

  private put_(frame: Frame): void {
    this.at_ = frame;
    const { style: place } = this.frame_;
    const sides = { left: frame.x, top: frame.y, width: frame.width, height: frame.height };
    for (const [side, share] of Object.entries(sides)) place.setProperty(side, `${100 * share}%`);
  }

  private drawPicture_(picture: ImageBitmap | HTMLImageElement): void {
    const { canvas_: canvas } = this;
    const scale = Math.min(1, LONGEST_SIDE / Math.max(picture.width, picture.height));
    canvas.width = Math.max(1, Math.round(picture.width * scale));
    canvas.height = Math.max(1, Math.round(picture.height * scale));
    canvas.getContext("2d")!.drawImage(picture, 0, 0, canvas.width, canvas.height);
    this.put_(WHOLE);
    this.fit_();
  }

  /** Turns the photo and its frame by a right angle to the right. */
  private turn_(): void {
    const { canvas_: canvas } = this;
    const before = draw("canvas", {});
    [before.width, before.height] = [canvas.width, canvas.height];
    before.getContext("2d")!.drawImage(canvas, 0, 0);
    [canvas.width, canvas.height] = [before.height, before.width];
    const context = canvas.getContext("2d")!;
    context.translate(canvas.width, 0);
    context.rotate(Math.PI / 2);
    context.drawImage(before, 0, 0);
    this.put_(turned(this.at_));
    this.fit_();
  }

  /** Gives the stage the photo's proportions; the stylesheet keeps it on the screen. */
  private fit_(): void {
    this.stage_.style.setProperty("--pr-crop-shape", `${this.canvas_.width / this.canvas_.height}`);
  }
}
