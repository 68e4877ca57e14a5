// Fields that offer what the catalog has while somebody types: a combobox beside the form's own
// field, which holds the value. A textarea takes several values, one a line; each is shown with
// its title, and its picture if it is a product. Without the script the fields are filled in by hand.
const ADDRESS = "/dashboard/suggest";
const WAIT_MS = 120; // after a key
const MOST_AT_ONCE = 50; // values in one request

type Field = HTMLInputElement | HTMLTextAreaElement;
let made = 0;

async function ask(kind: string, name: string, texts: string[]): Promise<HTMLElement[]> {
  const query = new URLSearchParams([["kind", kind], ...texts.map((one) => [name, one])]);
  const box = document.createElement("template");
  try {
    const reply = await fetch(`${ADDRESS}?${query}`, { headers: { "HX-Request": "true" } });
    if (reply.ok && !reply.redirected) box.innerHTML = await reply.text();
  } catch {
    // Without a reply there is nothing to offer: what was typed counts.
  }
  return [...box.content.querySelectorAll<HTMLElement>("[data-value]")];
}

function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name, className: string, attributes: Record<string, string> = {},
): HTMLElementTagNameMap[Name] {
  const one = document.createElement(name);
  one.className = className;
  Object.entries(attributes).forEach(([key, value]) => one.setAttribute(key, value));
  return one;
}

function action(label: string, sign: string, act: (button: HTMLElement) => void): HTMLElement {
  const button = element("button", "small", { type: "button", "aria-label": label });
  button.textContent = sign;
  button.addEventListener("click", () => act(button));
  return button;
}

class Suggest {
  readonly kind: string;
  private readonly isMany: boolean;
  private readonly box = element("div", "suggest");
  private readonly chips = element("ul", "chips");
  private readonly picture = element("span", "chosen");
  private readonly input: HTMLInputElement;
  private readonly list: HTMLElement;
  private options: HTMLElement[] = [];
  private at = -1;
  private timer = 0;
  private asked = 0;
  private picksFirst = false; // Enter was pressed before the options came

  constructor(private readonly field: Field) {
    this.kind = field.dataset.suggest!;
    this.isMany = field.tagName === "TEXTAREA";
    const id = `suggest-${++made}`;
    this.list = element("ul", "offers", { id, role: "listbox", "aria-label": "Suggestions" });
    this.input = element("input", "", {
      type: "text", role: "combobox", "aria-autocomplete": "list", "aria-controls": id,
      "aria-expanded": "false", autocomplete: "off", spellcheck: "false",
    });
    for (const name of ["id", "placeholder", "aria-invalid", "aria-describedby", "required"]) {
      const value = field.getAttribute(name);
      if (value !== null) this.input.setAttribute(name, value);
      field.removeAttribute(name);
    }
    const around = field.closest("label")?.firstChild?.textContent?.trim();
    if (around) this.input.setAttribute("aria-label", around); // not the text of its options
    this.list.hidden = true;
    field.hidden = true;
    if (field instanceof HTMLInputElement) field.type = "hidden";
    field.before(this.box);
    this.box.append(...(this.isMany ? [this.chips] : [this.picture]), this.input, this.list);
    this.listen();
    if (!this.isMany) this.input.value = field.value;
  }

  values(): string[] {
    return this.field.value.split("\n").map((one) => one.trim()).filter(Boolean);
  }

  // Shows the titles of what the field has; an option of an unknown value says so.
  show(known: Map<string, HTMLElement>): void {
    if (this.isMany) {
      const label = document.activeElement?.getAttribute("aria-label");
      const hasFocus = this.chips.contains(document.activeElement);
      this.chips.replaceChildren(...this.values().map((one) => this.chip(one, known.get(one))));
      const buttons = [...this.chips.querySelectorAll("button")];
      if (hasFocus) buttons.find((one) => one.getAttribute("aria-label") === label)?.focus();
    } else this.name(known.get(this.field.value));
  }

  private name(option: HTMLElement | undefined): void {
    const isKnown = option && !("unknown" in option.dataset);
    this.picture.replaceChildren(...(isKnown ? option.querySelectorAll(".thumb") : []));
    if (isKnown) this.input.value = option.dataset.label!;
  }

  private chip(value: string, option?: HTMLElement): HTMLElement {
    const chip = element("li", "chip");
    chip.dataset.chip = value;
    const label = option?.dataset.label ?? value;
    const text = element("span", "");
    text.textContent = label;
    const picture = option?.querySelector(".thumb");
    if (picture) chip.append(picture.cloneNode(true));
    chip.append(text);
    if (option && "unknown" in option.dataset) {
      const note = element("span", "badge warn");
      note.textContent = option.querySelector(".soft")?.textContent ?? "Not in your catalog";
      chip.append(note);
    }
    if (this.kind === "product") { // their order counts
      chip.append(
        action(`Move ${label} up`, "↑", (button) => this.shift(chip, -1, button)),
        action(`Move ${label} down`, "↓", (button) => this.shift(chip, 1, button)),
      );
    }
    chip.append(action(`Remove ${label}`, "×", () => this.drop(value)));
    return chip;
  }

  private shift(chip: HTMLElement, step: 1 | -1, button: HTMLElement): void {
    const other = step < 0 ? chip.previousElementSibling : chip.nextElementSibling;
    if (step < 0) other?.before(chip);
    else other?.after(chip);
    this.set([...this.chips.children].map((one) => (one as HTMLElement).dataset.chip).join("\n"));
    button.focus();
  }

  private listen(): void {
    this.input.addEventListener("input", (event) => {
      event.stopPropagation(); // the field's own event says what it holds
      if (!this.isMany) {
        this.picture.replaceChildren();
        this.set(this.input.value.trim());
      }
      this.wait();
    });
    this.input.addEventListener("change", (event) => event.stopPropagation());
    this.input.addEventListener("keydown", (event) => this.press(event));
    this.input.addEventListener("focus", () => {
      if (this.isMany && this.kind !== "product") this.wait();
      else this.input.select();
    });
    this.input.addEventListener("blur", () => this.leave());
    this.list.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the field keeps the focus
      const option = (event.target as Element).closest<HTMLElement>("[data-value]");
      if (option) this.pick(option);
    });
    // A click on the field's label or on what is chosen leads to where one types.
    this.box.addEventListener("click", (event) => {
      if (event.target === this.box || event.target === this.chips) this.input.focus();
    });
  }

  private set(value: string): void {
    if (value === this.field.value) return;
    this.field.value = value;
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  private wait(): void {
    clearTimeout(this.timer);
    this.picksFirst = false;
    this.timer = window.setTimeout(() => void this.offer(), WAIT_MS);
  }

  private async offer(): Promise<void> {
    const turn = ++this.asked;
    this.timer = 0;
    const found = await ask(this.kind, "q", [this.input.value.trim()]);
    if (turn !== this.asked) return;
    const has = new Set(this.isMany ? this.values() : []);
    this.options = found.filter((one) => !has.has(one.dataset.value!));
    this.options.forEach((one, at) => (one.id = `${this.list.id}-${at}`));
    this.list.replaceChildren(...this.options);
    if (this.picksFirst) return this.options[0] ? this.pick(this.options[0]) : this.leave();
    if (document.activeElement !== this.input) return;
    this.open(this.options.length > 0);
    this.mark(this.input.value.trim() ? 0 : -1);
  }

  private open(isOpen: boolean): void {
    this.list.hidden = !isOpen;
    this.input.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) this.mark(-1);
  }

  private mark(at: number): void {
    this.at = this.options[at] ? at : -1;
    this.options.forEach((one, place) => one.setAttribute("aria-selected", String(place === at)));
    const marked = this.options[this.at];
    if (marked && !this.list.hidden) {
      this.input.setAttribute("aria-activedescendant", marked.id);
      marked.scrollIntoView({ block: "nearest" });
    } else this.input.removeAttribute("aria-activedescendant");
  }

  private press(event: KeyboardEvent): void {
    const isOpen = !this.list.hidden;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const count = this.options.length;
    if (step) {
      if (!isOpen) this.wait();
      else this.mark(this.at < 0 && step < 0 ? count - 1 : (this.at + step + count) % count);
    } else if (event.key === "Enter" && (isOpen || this.timer || this.isMany)) {
      const marked = this.options[this.at];
      if (this.timer) this.picksFirst = true;
      else if (isOpen && marked) this.pick(marked);
      else this.leave();
    } else if (event.key === "Escape" && isOpen) this.open(false);
    else {
      if (event.key === "Backspace" && this.isMany && !this.input.value) {
        const last = this.values().pop();
        if (last !== undefined) this.drop(last);
      }
      return;
    }
    event.preventDefault();
  }

  private pick(option: HTMLElement): void {
    const value = option.dataset.value!;
    this.asked++;
    this.picksFirst = false;
    this.open(false);
    if (this.isMany) return this.add(value, option);
    this.name(option);
    this.set(value);
  }

  private add(value: string, option?: HTMLElement): void {
    this.input.value = "";
    if (this.values().includes(value)) return;
    this.chips.append(this.chip(value, option));
    this.set([...this.values(), value].join("\n"));
  }

  private drop(value: string): void {
    this.set(this.values().filter((one) => one !== value).join("\n"));
    [...this.chips.children].find((one) => (one as HTMLElement).dataset.chip === value)?.remove();
    this.input.focus();
    clearTimeout(this.timer); // it offers when somebody types, and covers nothing before
    this.timer = 0;
  }

  // What was typed and not chosen is not lost: it becomes the value, and is looked up.
  private leave(): void {
    const text = this.input.value.trim();
    clearTimeout(this.timer);
    this.timer = 0;
    this.asked++;
    this.open(false);
    if (this.isMany && text) this.add(text);
    void nameAll([this]);
  }
}

/** Shows the titles of the values that fields have, with one request for each kind. */
async function nameAll(fields: Suggest[]): Promise<void> {
  for (const kind of new Set(fields.map((one) => one.kind))) {
    const some = fields.filter((one) => one.kind === kind);
    const values = [...new Set(some.flatMap((one) => one.values()))];
    const known = new Map<string, HTMLElement>();
    for (let from = 0; from < values.length; from += MOST_AT_ONCE) {
      const options = await ask(kind, "of", values.slice(from, from + MOST_AT_ONCE));
      options.forEach((one) => known.set(one.dataset.value!, one));
    }
    some.forEach((one) => one.show(known));
  }
}

/** Turns the marked fields within an element into fields that suggest. */
export function prepareSuggestions(within: ParentNode): void {
  const found = [...within.querySelectorAll<Field>("[data-suggest]:not([hidden])")];
  void nameAll(found.map((one) => new Suggest(one)));
}
