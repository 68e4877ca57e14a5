// The look editor: boxes over the photo, moved and resized by mouse, touch and keyboard. The
// fields of each hotspot hold the truth, in per cent of the photo; without this script they
// are filled in by hand.
type Side = "x" | "y" | "width" | "height";
type Box = Record<Side, number>;

const SIDES: Side[] = ["x", "y", "width", "height"];
const LEAST = 2; // per cent: a smaller box is hard to hit
const STEP = 1;
const INSET = 24; // of a card, in pixels

interface Spot {
  row: HTMLElement;
  box: HTMLElement;
}

interface Drag {
  spot: Spot;
  from: Box;
  x: number;
  y: number;
  resizes: boolean;
}

function action(name: string, act: (button: HTMLElement) => void): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small";
  button.textContent = name;
  button.addEventListener("click", () => act(button));
  return button;
}

class LookEditor {
  private readonly spots: Spot[] = [];
  private readonly list: HTMLElement;
  private drag: Drag | null = null;

  constructor(
    private readonly form: HTMLElement,
    private readonly stage: HTMLElement,
  ) {
    this.list = form.querySelector<HTMLElement>("[data-spots]")!;
    this.list.querySelectorAll<HTMLElement>("[data-spot]").forEach((row) => this.take(row));
    form.querySelector("[data-add]")?.addEventListener("click", (event) => {
      event.preventDefault();
      this.add().box.focus();
    });
    stage.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) {
      stage.addEventListener(end, () => (this.drag = null));
    }
  }

  private add(): Spot {
    const template = this.form.querySelector<HTMLTemplateElement>("[data-new]")!;
    const row = template.content.firstElementChild!.cloneNode(true) as HTMLElement;
    this.list.append(row);
    row.dispatchEvent(new CustomEvent("htmx:load", { bubbles: true })); // prepares its fields
    this.changed();
    return this.take(row);
  }

  private take(row: HTMLElement): Spot {
    const box = document.createElement("button");
    box.type = "button";
    box.className = "box";
    box.setAttribute("aria-describedby", "how");
    box.innerHTML = '<span class="tag"></span><span class="grip"></span>';
    if ("proposed" in row.dataset) box.classList.add("proposed");
    const spot = { row, box };
    box.addEventListener("keydown", (event) => this.press(spot, event));
    box.addEventListener("pointerdown", (event) => this.begin(spot, event));
    box.addEventListener("focus", () => this.light(spot));
    row.addEventListener("focusin", () => this.light(spot));
    row.addEventListener("input", () => this.draw());
    const actions = document.createElement("p"); // a label would name its first button
    actions.className = "inline";
    row.querySelector<HTMLElement>("[data-remover]")!.replaceWith(actions);
    actions.append(
      action("Move up", (button) => this.shift(spot, -1, button)),
      action("Move down", (button) => this.shift(spot, 1, button)),
      action("Remove", () => this.remove(spot)),
    );
    this.stage.append(box);
    this.spots.push(spot);
    this.draw();
    return spot;
  }

  // The hotspots' order is the order of the look's products.
  private shift(spot: Spot, step: 1 | -1, button: HTMLElement): void {
    const at = this.spots.indexOf(spot);
    const other = this.spots[at + step];
    if (!other) return;
    [this.spots[at], this.spots[at + step]] = [other, spot];
    if (step < 0) other.row.before(spot.row);
    else other.row.after(spot.row);
    this.draw();
    this.changed();
    button.focus();
  }

  private remove(spot: Spot): void {
    const at = this.spots.indexOf(spot);
    this.spots.splice(at, 1);
    spot.row.remove();
    spot.box.remove();
    this.draw();
    this.changed();
    const next = this.spots[Math.min(at, this.spots.length - 1)];
    (next?.box ?? this.form.querySelector<HTMLElement>("[data-add]"))?.focus();
  }

  // Says that there is something to save; fields that a script fills in say nothing.
  private changed(): void {
    this.form.dispatchEvent(new Event("change", { bubbles: true }));
  }

  private field(spot: Spot, name: string): HTMLInputElement {
    return spot.row.querySelector<HTMLInputElement>(`[data-${name}]`)!;
  }

  private read(spot: Spot): Box {
    const numbers = SIDES.map((side) => Number(this.field(spot, side).value) || 0);
    return { x: numbers[0]!, y: numbers[1]!, width: numbers[2]!, height: numbers[3]! };
  }

  // Moves or resizes a box, within the photo.
  private change(spot: Spot, from: Box, dx: number, dy: number, resizes: boolean): void {
    const within = (value: number, least: number, most: number) =>
      Math.min(Math.max(value, least), Math.max(least, most));
    const box = resizes
      ? { ...from, width: within(from.width + dx, LEAST, 100 - from.x),
          height: within(from.height + dy, LEAST, 100 - from.y) }
      : { ...from, x: within(from.x + dx, 0, 100 - from.width),
          y: within(from.y + dy, 0, 100 - from.height) };
    for (const side of SIDES) this.field(spot, side).value = String(Math.round(box[side] * 10) / 10);
    this.draw();
    this.changed();
  }

  private press(spot: Spot, event: KeyboardEvent): void {
    const arrows: Record<string, [number, number]> = {
      ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP],
    };
    const arrow = arrows[event.key];
    if (arrow) this.change(spot, this.read(spot), ...arrow, event.shiftKey);
    else if (event.key === "Delete" || event.key === "Backspace") this.remove(spot);
    else if (event.key === "Enter") spot.row.querySelector<HTMLElement>("[role=combobox]")?.focus();
    else return;
    event.preventDefault();
  }

  private begin(spot: Spot, event: PointerEvent): void {
    if (event.button) return;
    const resizes = event.target instanceof Element && event.target.matches(".grip");
    this.drag = { spot, from: this.read(spot), x: event.clientX, y: event.clientY, resizes };
    spot.box.setPointerCapture(event.pointerId);
    spot.box.focus();
    event.preventDefault();
  }

  private move(event: PointerEvent): void {
    if (!this.drag) return;
    const { width, height } = this.stage.getBoundingClientRect();
    const dx = ((event.clientX - this.drag.x) / width) * 100;
    const dy = ((event.clientY - this.drag.y) / height) * 100;
    this.change(this.drag.spot, this.drag.from, dx, dy, this.drag.resizes);
  }

  private light(spot: Spot): void {
    this.spots.forEach((one) => {
      one.box.classList.toggle("lit", one === spot);
      one.row.classList.toggle("lit", one === spot);
    });
  }

  private draw(): void {
    this.spots.forEach((spot, at) => {
      const box = this.read(spot);
      const style = spot.box.style;
      [style.left, style.top] = [`${box.x}%`, `${box.y}%`];
      [style.width, style.height] = [`${box.width}%`, `${box.height}%`];
      const name = this.field(spot, "label").value || this.field(spot, "item").value;
      spot.box.setAttribute("aria-label", `Hotspot ${at + 1}${name ? `: ${name}` : ""}`);
      spot.box.querySelector(".tag")!.textContent = String(at + 1);
      spot.row.querySelector("[data-number]")!.textContent = String(at + 1);
    });
  }
}

document.querySelectorAll<HTMLElement>("[data-look-editor]").forEach((form) => {
  const stage = form.querySelector<HTMLElement>("[data-stage]");
  if (stage?.querySelector("[data-photo]")) new LookEditor(form, stage);
});

// The preview's width: the frame is that wide, and drawn smaller where the page is narrower.
class PreviewWidth {
  private width = 0;

  constructor(
    private readonly buttons: HTMLElement,
    private readonly frame: HTMLElement,
    private readonly inner: HTMLIFrameElement,
  ) {
    buttons.querySelectorAll<HTMLElement>("[data-width]").forEach((button) => {
      button.hidden = false;
      button.addEventListener("click", () => this.choose(Number(button.dataset.width)));
    });
    new ResizeObserver(() => this.draw()).observe(frame.parentElement!);
    this.choose(375);
  }

  private choose(width: number): void {
    this.width = width;
    this.buttons.querySelectorAll<HTMLElement>("[data-width]").forEach((button) => {
      button.setAttribute("aria-pressed", String(Number(button.dataset.width) === width));
    });
    this.draw();
  }

  private draw(): void {
    const room = this.frame.parentElement!.clientWidth - 2 * INSET;
    const scale = Math.min(1, room / this.width);
    const high = this.width > 600 ? 900 : 640;
    Object.assign(this.frame.style, {
      inlineSize: `${this.width * scale + 2}px`, blockSize: `${high * scale + 2}px`, resize: "none",
    });
    Object.assign(this.inner.style, {
      inlineSize: `${this.width}px`, blockSize: `${high}px`,
      transform: `scale(${scale})`, transformOrigin: "0 0",
    });
  }
}

const widths = document.querySelector<HTMLElement>("[data-widths]");
const frame = document.querySelector<HTMLElement>("[data-frame]");
const inner = frame?.querySelector("iframe");
if (widths && frame && inner) new PreviewWidth(widths, frame, inner);

export {};
