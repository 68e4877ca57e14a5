// A search box of the theme's, with suggestions: the pattern is the ARIA combobox with a list.
//
// The focus stays in the box; which option is meant is told by `aria-activedescendant`. Enter
// with none meant is the theme's own search.

import type { Look } from "../core/config";
import type { Core, Fields } from "../core/core";
import { draw, style } from "../core/drawing";
import { languageOf, localeOf } from "../core/money";
import { type Cropping, failureOf, hintOf, send, shrink, takePhotos } from "../core/photo";
import { type Product, productsOf } from "../core/product";
import { type Reply, read, withQuery } from "../core/reading";
import { sessionId } from "../core/session";
import { pause } from "../core/turns";
import {
  type Answer,
  type Region,
  allOption,
  answerButton,
  answersOf,
  filterButton,
  productOption,
  regionsOf,
  wordsOption,
} from "./options";
import { Panel } from "./panel";
import styles from "./search.css";

const PAUSE_MS = 120;
const NARROW = 600;
const MOST_NARROW = 6;
const MOST = 10;
const MORE_NARROW = 2; // rows of words beside the products; on a wide screen within `MOST`
const WORDS = 3;
let count = 0;

export class SearchBox {
  private readonly panel_: Panel;
  private readonly key_: string;
  private look_: Look | undefined;
  private stop_ = new AbortController();
  private timer_ = 0;
  private active_ = -1;
  private shown_: string | null = null; // what the list is for
  private redirect_ = "";
  private words_ = "";
  private chosen_: readonly Answer[] = [];
  private answered_ = ""; // the question that the next search answers
  private preferred_ = "";

  constructor(
    private readonly box_: HTMLInputElement,
    private readonly core_: Core,
  ) {
    const id = `pr-search-${++count}`;
    const { answers } = core_.facts;
    this.key_ = core_.keyOf();
    this.panel_ = new Panel(id, answers.includes("image"));
    const roles = {
      role: "combobox",
      "aria-autocomplete": "list",
      "aria-expanded": "false",
      "aria-controls": id,
      "aria-haspopup": "listbox",
      autocomplete: "off",
    };
    for (const [name, value] of Object.entries(roles)) box_.setAttribute(name, value);
    this.listen_();
  }

  private listen_(): void {
    const { box_: box, panel_: panel } = this;
    box.addEventListener("input", (event) => {
      if (!(event as InputEvent).isComposing) this.ask_();
    });
    box.addEventListener("compositionend", () => this.ask_());
    box.addEventListener("click", () => this.ask_(0));
    box.addEventListener("keydown", (event) => this.pressed_(event));
    box.form?.addEventListener("submit", (event) => this.submitted_(event));
    panel.element.addEventListener("mousedown", (event) => event.preventDefault());
    panel.photo.addEventListener("keydown", (event) => this.leave_(event));
    const away = (event: FocusEvent): void => {
      const { relatedTarget: to } = event;
      if (to !== box && !panel.element.contains(to as Node | null)) this.close_();
    };
    box.addEventListener("focusout", away);
    panel.element.addEventListener("focusout", away);
    if (!panel.foot.hidden) {
      takePhotos(panel.chooser, [box, panel.element], (photo) => void this.search_(photo));
    }
  }

  /** Asks for suggestions soon; who types on asks again. */
  private ask_(inMs = PAUSE_MS): void {
    clearTimeout(this.timer_);
    this.stop_.abort();
    this.panel_.join(this.box_); // now that it is wanted: where to is a question to the layout
    const stop = (this.stop_ = new AbortController());
    this.timer_ = setTimeout(() => void this.suggest_(stop.signal), inMs);
  }

  private async suggest_(signal: AbortSignal): Promise<void> {
    const words = this.box_.value.trim();
    if (this.shown_ === words && this.panel_.list.childElementCount) return this.open_();
    if (words !== this.words_) this.chosen_ = [];
    this.words_ = words;
    try {
      const look = await this.looks_();
      const reply = await this.find_(words, look, signal);
      const products = productsOf(reply.body_.results);
      const popular = products.length || !words ? null : await this.find_("", look, signal);
      if (signal.aborted || document.activeElement !== this.box_) return;
      this.redirect_ = reply.headers_.get("x-search-redirect") ?? "";
      await this.show_(words, reply, popular, look, signal);
    } catch {
      // No suggestions: the theme's own search is as it was.
      if (!signal.aborted) this.close_();
    }
  }

  private find_(words: string, look: Look, signal: AbortSignal): Promise<Reply> {
    const most = innerWidth < NARROW ? MOST_NARROW : MOST;
    const { consent, user, identity } = this.core_;
    const query = {
      q: words,
      user_id: consent.given && (user || sessionId()), // as its click names them
      identity: consent.given && user && identity,
      session_id: consent.given && user && sessionId(),
      num: Math.min(look.num, most),
      suggest: words && WORDS,
      highlight: !!words,
      in_stock: !words, // what is popular can be bought; of what is searched for, it comes first
      collapse: true,
      refine: !!words,
      answered: this.answered_,
      key: this.key_,
      price_list: look.price_list,
    };
    this.answered_ = "";
    const filters = words ? this.chosen_ : [];
    const texts = filters.map(({ filter }) => `&filter=${encodeURIComponent(filter)}`);
    return read(this.core_.facts.base + withQuery("/v1/search", query) + texts.join(""), signal);
  }

  private async looks_(): Promise<Look> {
    const lang = languageOf(this.box_);
    const list = this.box_.getAttribute("price-list");
    const look = await this.core_.look(this.key_, "search", lang, list);
    if (!this.look_) {
      style(document, styles, look.custom_css);
      this.panel_.list.ariaLabel = this.panel_.element.ariaLabel = look.strings.label;
      this.panel_.sayPhoto(look.strings.photo, hintOf(look.strings));
      if (look.theme !== "auto") this.panel_.element.style.colorScheme = look.theme;
    }
    return (this.look_ = { ...look, locale: localeOf(lang, look.locale) });
  }

  /** Draws what was found; where that is nothing, what is popular. */
  private async show_(
    words: string,
    reply: Reply,
    popular: Reply | null,
    look: Look,
    signal: AbortSignal,
  ): Promise<void> {
    const { strings } = look;
    const lines = (popular ?? reply).body_;
    const said = (text: string): string =>
      text.replace("{n}", `${found.length}`).replace("{q}", words);
    const other: unknown[] = reply.body_.suggestions ?? [];
    const meant = reply.body_.did_you_mean; // it has a button of its own
    const suggested = other
      .filter((one): one is string => typeof one === "string")
      .filter((one) => one !== meant && one.toLowerCase() !== words.toLowerCase())
      .slice(0, WORDS);
    const rows = innerWidth < NARROW ? MOST_NARROW + MORE_NARROW : MOST;
    const room = rows - suggested.length - (words && this.box_.form ? 1 : 0);
    const found = productsOf(reply.body_.results).slice(0, room);
    const options = [
      ...suggested.map((one) => this.wordsOption_(one)),
      ...(await this.productOptions_(lines.results, look, words, "search-click", room)),
    ];
    signal.throwIfAborted();
    if (found.length && words && this.box_.form) {
      const all = allOption(strings.see_all);
      all.addEventListener("click", () => this.submit_());
      options.push(all);
    }
    const isNothing = !!words && !found.length;
    const isSimilar = reply.headers_.get("x-search-relaxed") === "meaning";
    const head = isNothing || !words ? strings.popular : isSimilar ? strings.similar : "";
    this.panel_.filter([
      ...this.correction_(meant, strings.did_you_mean),
      ...this.filterButtons_(reply.body_.filters, look),
      ...this.chosen_.map((one) =>
        this.removing_(one.value, look, () => this.choose_(this.chosen_.filter((it) => it !== one))),
      ),
      ...this.question_(reply.body_.refine, look),
    ]);
    this.panel_.say(isNothing || isSimilar ? said(strings.none) : "", head);
    const told = found.length === 1 ? strings.found_one : strings.found;
    const status = isSimilar ? `${strings.none}. ${strings.similar}` : told;
    this.panel_.status.textContent = words ? said(found.length ? status : strings.none) : "";
    this.finish_(words, options);
  }

  /** Returns the button that searches for the corrected words. */
  private correction_(words: unknown, text: string): HTMLButtonElement[] {
    if (typeof words !== "string") return [];
    return [
      this.withKeys_(answerButton(text.replace("{q}", words)), () => this.retype_(words)),
    ];
  }

  /** Returns a button for each filter that the service read from the words. */
  private filterButtons_(filters: unknown, look: Look): HTMLButtonElement[] {
    const texts: unknown[] = Array.isArray(filters) ? filters.map((one) => one?.text) : [];
    return texts
      .filter((text): text is string => typeof text === "string")
      .map((text) => this.removing_(text, look, () => this.takeAway_(text)));
  }

  private removing_(text: string, look: Look, remove: () => void): HTMLButtonElement {
    return this.withKeys_(filterButton(text, look.strings.remove_filter.replace("{q}", text)), remove);
  }

  /** Returns the question of a reply, with a button for each answer. */
  private question_(refine: any, look: Look): HTMLElement[] {
    const answers = answersOf(refine);
    if (!answers.length) return [];
    const texts: Readonly<Record<string, string | undefined>> = look.strings;
    const text = texts[`question_${refine.attribute}`] ?? `${refine.question}`;
    const buttons = answers.map((one) =>
      this.withKeys_(answerButton(one.value), () => {
        this.answered_ = refine.attribute;
        this.choose_([...this.chosen_, one]);
      }),
    );
    return [draw("span", { class: "pr-search-ask" }, text), ...buttons];
  }

  private withKeys_(made: HTMLButtonElement, click: () => void): HTMLButtonElement {
    made.addEventListener("click", click);
    made.addEventListener("keydown", (event) => this.leaveFilter_(event, made));
    return made;
  }

  /** Searches for the same words with other filters. */
  private choose_(filters: readonly Answer[]): void {
    this.chosen_ = filters;
    this.shown_ = null;
    this.box_.focus();
    this.ask_(0);
  }

  /** Searches again without the words of a filter. */
  private takeAway_(text: string): void {
    const { box_: box } = this;
    const at = box.value.toLowerCase().indexOf(text.toLowerCase());
    if (at < 0) return;
    const rest = box.value.slice(0, at) + box.value.slice(at + text.length);
    this.retype_(rest.replace(/\s+/g, " ").trim());
  }

  /** Searches for other words. */
  private retype_(words: string): void {
    this.box_.value = words;
    this.box_.focus();
    this.ask_(0);
  }

  private finish_(words: string | null, options: readonly HTMLElement[]): void {
    options.forEach((one, at) => {
      one.id = `${this.panel_.list.id}-${at}`;
    });
    this.shown_ = words;
    this.mean_(-1);
    this.open_(options);
  }

  /** Draws an option for each product, in as many tasks as it takes. */
  private async productOptions_(
    results: unknown,
    look: Look,
    words: string,
    event: string,
    most = MOST,
  ): Promise<HTMLElement[]> {
    const raw = Array.isArray(results) ? results : [];
    const options: HTMLElement[] = [];
    for (const product of productsOf(raw).slice(0, most)) {
      await pause();
      const { highlight, variants } = raw.find((one) => one.id === product.id);
      const html = highlight?.title;
      const title = typeof html === "string" ? html : escaped(product.title);
      const count = variants > 1 ? look.strings.variants.replace("{n}", `${+variants}`) : "";
      const made = productOption(product, title, count, look);
      const fields = {
        item_id: product.id,
        source: product.source,
        position: options.length + 1,
        widget: "search",
        search_query: words || undefined,
      };
      const clicked = (click: MouseEvent): void => {
        if (click.button < 2) this.clicked_(event, fields, words, product);
      };
      made.addEventListener("click", clicked);
      made.addEventListener("auxclick", clicked);
      options.push(made);
    }
    await pause();
    return options;
  }

  private clicked_(event: string, fields: Fields, words: string, product: Product): void {
    // A list of what is popular answers no words, and teaches no search.
    if (words) this.prefer_(words);
    if (words || event !== "search-click") this.core_.track(event, fields, this.key_);
    this.core_.hurry();
    this.box_.dispatchEvent(
      new CustomEvent("product-recs:click", {
        detail: { product, ...fields },
        bubbles: true,
        composed: true,
      }),
    );
    this.close_();
  }

  private wordsOption_(words: string): HTMLElement {
    const made = wordsOption(words);
    made.addEventListener("click", () => {
      this.box_.value = words;
      this.redirect_ = "";
      this.submit_();
    });
    return made;
  }

  /** Searches with a photo, and shows what looks alike in the same list. */
  private async search_(photo: File): Promise<void> {
    clearTimeout(this.timer_);
    this.stop_.abort();
    const { panel_: panel } = this;
    try {
      const look = await this.looks_();
      const { strings } = look;
      const part = await this.crop_(photo, look);
      if (!part) return this.box_.focus();
      const { signal } = (this.stop_ = new AbortController());
      this.open_();
      panel.photo.focus({ preventScroll: true }); // from here on, leaving closes
      panel.sayPhoto(strings.photo_busy, strings.photo_kept, true);
      panel.status.textContent = strings.photo_busy;
      try {
        const image = await shrink(part);
        const query = withQuery("/v1/search/image", { key: this.key_, price_list: look.price_list });
        const num = innerWidth < NARROW ? MOST_NARROW : MOST;
        const fields = { image, num, regions: true };
        const reply = await send(this.core_.facts.base + query, fields, signal);
        const found = productsOf(reply.body_.results).length;
        const shown = found ? reply : await this.find_("", look, signal);
        const event = found ? "image-search-click" : "search-click";
        const options = await this.productOptions_(shown.body_.results, look, "", event);
        signal.throwIfAborted();
        const none = found ? "" : strings.none.replace("{q}", photo.name);
        this.regionButtons_(regionsOf(reply.body_.regions), look, signal, options);
        panel.say(none, found ? strings.similar : strings.popular);
        panel.status.textContent = none || strings.similar;
        panel.sayPhoto(strings.photo, strings.photo_kept);
        this.finish_(null, options);
      } catch (reason) {
        if (signal.aborted) return panel.sayPhoto(strings.photo, hintOf(strings));
        const failure = failureOf(reason, strings);
        panel.sayPhoto(failure, hintOf(strings));
        panel.status.textContent = failure;
      }
    } catch {
      this.close_();
    }
  }

  /** Returns what a shopper chooses of a photo, all where it cannot be shown; null to stop. */
  private async crop_(photo: File, look: Look): Promise<ImageBitmapSource | null> {
    try {
      // A build without a store is pinned by its page: it loads nothing else.
      if (STORE?.key) await import(`${this.core_.facts.base}/widget/v1/_/crop.js`);
      return await (window.ProductRecs as Required<Cropping>).crop(photo, look);
    } catch {
      return photo; // `shrink` says what is wrong with a file that cannot be read
    }
  }

  /** Shows a button for each thing in a photo, which shows its products alone and again all. */
  private regionButtons_(
    regions: readonly Region[],
    look: Look,
    signal: AbortSignal,
    all: readonly HTMLElement[],
  ): void {
    const buttons = regions.map((region) => {
      const button = answerButton(region.label);
      button.ariaPressed = "false";
      return this.withKeys_(button, async () => {
        const isChosen = button.ariaPressed !== "true";
        const products = isChosen && region.products;
        const options = products
          ? await this.productOptions_(products, look, "", "image-search-click")
          : all;
        if (signal.aborted) return;
        for (const one of buttons) one.ariaPressed = `${one === button && isChosen}`;
        this.finish_(null, options);
      });
    });
    this.panel_.filter(buttons);
  }

  // ------------------------------------------------------------------ the keyboard

  private pressed_(event: KeyboardEvent): void {
    if (event.isComposing) return;
    const isOpen = !this.panel_.element.hidden;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      if (!isOpen) this.ask_(0);
      else if (!event.altKey) this.step_(move);
      else if (move < 0) this.close_();
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      this.close_();
    } else if (event.key === "Enter" && isOpen && this.active_ >= 0) {
      event.preventDefault();
      (this.panel_.list.children[this.active_] as HTMLElement).click();
    } else if (event.key === "Tab" && isOpen && !event.shiftKey) {
      const filter = this.panel_.filters.querySelector("button");
      const next = filter ?? (this.panel_.foot.hidden ? null : this.panel_.photo);
      if (!next) return;
      event.preventDefault();
      next.focus();
    }
  }

  /** From the first filter back to the box; from the last one on, as from the box. */
  private leaveFilter_(event: KeyboardEvent, button: HTMLElement): void {
    const isFirst = this.panel_.filters.querySelector("button") === button;
    const isBack = event.key === "Tab" && event.shiftKey && isFirst;
    const isLast = !event.shiftKey && !button.nextElementSibling && this.panel_.foot.hidden;
    if (event.key === "Escape") this.close_();
    if (event.key === "Escape" || isBack) event.preventDefault();
    if (event.key === "Escape" || isBack || (event.key === "Tab" && isLast)) this.box_.focus();
  }

  /** From the photo's button, Tab goes on from where the box is. */
  private leave_(event: KeyboardEvent): void {
    if (event.key === "Tab" || event.key === "Escape") {
      this.box_.focus();
      if (event.key === "Escape" || !event.shiftKey) this.close_();
      if (event.key === "Escape" || event.shiftKey) event.preventDefault();
    }
  }

  private step_(by: number): void {
    const length = this.panel_.list.childElementCount;
    // One place more than there are options: the box itself.
    this.mean_(((this.active_ + 1 + by + length + 1) % (length + 1)) - 1);
  }

  private mean_(at: number): void {
    const options = this.panel_.list.children;
    options[this.active_]?.setAttribute("aria-selected", "false");
    this.active_ = at;
    const meant = options[at];
    meant?.setAttribute("aria-selected", "true");
    meant?.scrollIntoView({ block: "nearest" });
    if (meant) this.box_.setAttribute("aria-activedescendant", meant.id);
    else this.box_.removeAttribute("aria-activedescendant");
  }

  private open_(options?: readonly Node[]): void {
    this.panel_.open(this.box_, options);
    this.box_.ariaExpanded = "true";
  }

  private close_(): void {
    clearTimeout(this.timer_);
    this.stop_.abort();
    this.panel_.element.hidden = true;
    this.box_.ariaExpanded = "false";
    this.mean_(-1);
    this.shown_ = null;
  }

  // ------------------------------------------------------------------ the theme's search

  private submit_(): void {
    this.close_();
    const { form } = this.box_;
    if (form) form.requestSubmit();
    else this.ask_(0);
  }

  private submitted_(event: SubmitEvent): void {
    const words = this.box_.value.trim();
    if (words) this.prefer_(words);
    this.core_.hurry();
    this.close_();
    if (!this.redirect_ || event.defaultPrevented) return;
    event.preventDefault();
    location.assign(this.redirect_);
  }

  /** Tells that somebody searched for these words; once for the same in a row. */
  private prefer_(words: string): void {
    if (words === this.preferred_) return;
    this.preferred_ = words;
    const fields = { search_query: words, widget: "search" };
    this.core_.track("search-pref", fields, this.key_);
  }
}

const escaped = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
