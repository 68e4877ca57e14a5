// The panel below the search box: where it stands, and what is in it.
//
// It is in the page's own tree, not in a shadow: the box's `aria-activedescendant` must find
// its options by their ids.

import { draw, icon } from "../core/drawing";
import { CAMERA } from "../core/photo";

const LEAST_WIDTH = 440;
const EDGE = 8;
const GAP = 6;

export class Panel {
  readonly list: HTMLElement;
  readonly note = draw("div", { class: "pr-search-note" });
  readonly filters = draw("div", { class: "pr-search-filters", role: "group", hidden: "" });
  readonly head = draw("div", { class: "pr-search-head" });
  readonly status = draw("div", { class: "pr-search-status", role: "status" });
  readonly photo: HTMLButtonElement;
  readonly chooser: HTMLInputElement;
  readonly foot: HTMLElement;
  readonly element: HTMLElement;
  private readonly hint_ = draw("small", {});
  private readonly name_ = draw("span", {});

  /** `id` is that of the list; `takesPhotos` says whether a photo may be searched with. */
  constructor(id: string, takesPhotos: boolean) {
    this.list = draw("div", { id, class: "pr-search-list", role: "listbox" });
    const text = draw("span", {}, this.name_, this.hint_);
    const kind = { class: "pr-search-photo", type: "button" };
    this.photo = draw("button", kind, icon(CAMERA), text);
    this.chooser = draw("input", { type: "file", accept: "image/*", tabindex: "-1", hidden: "" });
    this.foot = draw("div", { class: "pr-search-foot" }, this.photo, this.chooser);
    this.foot.hidden = !takesPhotos;
    this.element = draw(
      "div",
      { class: "pr-search", role: "search", hidden: "" },
      this.filters,
      this.note,
      this.head,
      this.list,
      takesPhotos && this.foot,
    );
    this.photo.addEventListener("click", () => this.chooser.click());
  }

  /** Puts the panel into the page, once, near a box, where nothing cuts it off. */
  join(box: HTMLElement): void {
    if (this.element.isConnected) return;
    let around = box.offsetParent as HTMLElement | null;
    while (around && getComputedStyle(around).overflow !== "visible") {
      around = around.offsetParent as HTMLElement | null;
    }
    (around ?? document.body).append(this.element, this.status);
  }

  /**
   * Shows it below the box, within the screen, with `options` or those it has. They come last:
   * where the panel stands is asked before there is much to lay out.
   */
  open(box: HTMLElement, options: readonly Node[] = [...this.list.children]): void {
    this.list.replaceChildren();
    this.element.hidden = false;
    const { style } = this.element;
    const screen = document.documentElement.clientWidth;
    const at = box.getBoundingClientRect();
    const width = Math.min(Math.max(at.width, LEAST_WIDTH), screen - 2 * EDGE);
    const isRtl = getComputedStyle(box).direction === "rtl";
    const wanted = isRtl ? at.right - width : at.left;
    const left = Math.min(Math.max(wanted, EDGE), screen - EDGE - width);
    // What it is placed by, and how a page scales it, is measured: a page has many ways.
    style.left = style.top = "0";
    style.width = `${width}px`;
    const origin = this.element.getBoundingClientRect();
    const scale = origin.width / width || 1;
    style.width = `${width / scale}px`;
    style.left = `${(left - origin.left) / scale}px`;
    style.top = `${(at.bottom + GAP - origin.top) / scale}px`;
    this.list.append(...options);
  }

  /** Says what the photo's button is for, or how it goes with it. */
  sayPhoto(name: string, hint: string, isBusy = false): void {
    this.name_.textContent = name;
    this.hint_.textContent = hint;
    this.photo.ariaBusy = `${isBusy}`;
  }

  /** Shows the buttons of filters, and of the answers to a question. */
  filter(parts: readonly HTMLElement[]): void {
    this.filters.replaceChildren(...parts);
    this.filters.hidden = !parts.length;
  }

  say(note: string, head: string): void {
    this.note.textContent = note;
    this.note.hidden = !note;
    this.head.textContent = head;
    this.head.hidden = !head;
  }
}
