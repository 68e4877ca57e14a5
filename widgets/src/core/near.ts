// An element that asks when it comes near the screen, and leaves nothing when it goes.

import type { Look } from "./config";
import type { Core } from "./core";
import { OWN, showChildren } from "./frame";
import { languageOf, localeOf } from "./money";
import type { Product } from "./product";
import { watchSight } from "./sight";
import { turn } from "./turns";

const NEAR = "400px";

/** What an element is for: whose key, which type of widget, and which product's page. */
export interface Place {
  readonly key: string;
  readonly type: string;
  readonly item: string;
}

/**
 * Returns whether a product is the one that the list, or the page, is about. It may be drawn,
 * but it is never reported as recommended: its visitors came for it anyway.
 */
export function isAnchor(id: string, item: string): boolean {
  if (id === item) return true;
  const named = document.querySelectorAll<HTMLElement>("product-recs, product-look");
  return [...named].some(({ dataset }) => dataset.itemId === id && dataset.view !== "off");
}

export abstract class NearElement extends HTMLElement {
  private near_?: IntersectionObserver | undefined;
  private stop_?: AbortController | undefined;
  private unwatch_?: (() => void) | undefined;

  protected abstract get core_(): Core;
  protected abstract place_(): Place;
  /** Keeps the place of what will come. */
  protected abstract reserve_(): void;
  /** Asks and draws, until `signal` ends it; what it throws else becomes the event `error`. */
  protected abstract load_(signal: AbortSignal): Promise<void>;

  connectedCallback(): void {
    this.core_.attempt(() => {
      const isDrawn = this.shadowRoot && this.dataset.ssr !== undefined; // by the shop's server
      if (!this.shadowRoot) this.attachShadow({ mode: "open" });
      if (this.querySelector(OWN)) showChildren(this);
      else if (!isDrawn) this.reserve_();
      this.refresh_();
    });
  }

  disconnectedCallback(): void {
    this.rest_();
  }

  attributeChangedCallback(_name: string, before: string | null, now: string | null): void {
    if (this.isConnected && before !== now) this.refresh_();
  }

  /** Asks again soon; changes of one moment are one question. */
  private refresh_(): void {
    this.rest_();
    const { signal } = (this.stop_ = new AbortController());
    requestAnimationFrame(async () => {
      await turn(0);
      if (!signal.aborted) this.core_.attempt(() => this.begin_(signal));
    });
  }

  private begin_(signal: AbortSignal): void {
    const { core_: core } = this;
    const { key, type, item } = this.place_();
    const { customerId, userId, view, eager } = this.dataset;
    const named = customerId || (userId ?? customerId);
    if (named !== undefined) core.user = core.customer(named); // blank: nobody is signed in
    // The page of a product says so, whether or not its widgets are ever seen.
    if (item && key && view !== "off") core.view(item, { widget: type }, key);
    this.hidden = false;
    this.hold_("");
    const go = (): void => {
      this.near_?.disconnect();
      turn(signal)
        .then((ends) => {
          ends.throwIfAborted();
          return this.load_(ends);
        })
        .catch((error) => this.without_(signal, "error", { reason: String(error) }))
        .catch(() => {}); // something else is wanted by now
    };
    if (eager !== undefined) return go();
    this.observe_(({ isIntersecting }) => isIntersecting && go(), NEAR);
  }

  /** Tells of the element's box on a screen so much longer, when it is laid out anyway. */
  private observe_(tell: (box: IntersectionObserverEntry) => void, more = "0px"): void {
    this.near_?.disconnect();
    const options = { rootMargin: `0px 0px ${more}` };
    this.near_ = new IntersectionObserver((seen) => tell(seen.pop()!), options);
    this.near_.observe(this);
  }

  /** Ends whatever goes on. */
  private rest_(): void {
    this.near_?.disconnect();
    this.stop_?.abort();
    this.unwatch_?.();
    this.near_ = this.stop_ = this.unwatch_ = undefined;
  }

  /** The look of the type, with what the element says itself. */
  protected async look_({ key, type }: Place): Promise<Look> {
    if (!key) throw new Error("no data-key");
    const lang = languageOf(this);
    const look = await this.core_.look(key, type, lang).then(turn);
    return { ...this.own_(look), locale: localeOf(lang, look.locale) };
  }

  protected own_(look: Look): Look {
    const { layout, title, columns, num } = this.dataset;
    return {
      ...look,
      layout: layout || look.layout,
      title: title ?? look.title,
      columns: Number(columns) || look.columns,
      num: Math.max(Math.trunc(Number(num)), 0) || look.num,
    };
  }

  /** Tells which products are seen from now on, each by the card at its place. */
  protected watch_(
    cards: readonly Element[],
    products: readonly Product[],
    { key, type, item }: Place,
  ): void {
    this.unwatch_?.();
    const recommended = cards.filter((_, at) => !isAnchor(products[at]!.id, item));
    this.unwatch_ = watchSight(recommended, (seen) => {
      const places = seen.map((card) => cards.indexOf(card)).sort((one, other) => one - other);
      const fields = {
        item_ids: places.map((place) => products[place]!.id),
        sources: places.map((place) => products[place]!.source),
        positions: places.map((place) => place + 1),
        widget: type,
      };
      this.core_.track("rec-impression", fields, key);
      this.say_("impression", fields);
    });
  }

  /** Tells of a click on a product; the page may keep the browser from following it. */
  protected clicked_(
    product: Product,
    position: number,
    { key, type, item }: Place,
    origin: Event,
  ): void {
    if (isAnchor(product.id, item)) return;
    if (!this.say_("click", { product, position, widget: type })) origin.preventDefault();
    const { id, source } = product;
    this.core_.track("rec-click", { item_id: id, source, position, widget: type }, key);
    this.core_.hurry();
  }

  /** Asks the page to put products into its cart; returns whether it has. */
  protected async wanted_(
    products: readonly Product[],
    { currency }: Look,
    { type }: Place,
    from: Product | null,
  ): Promise<boolean> {
    let done: Promise<unknown> | undefined;
    const detail = {
      items: products.map(({ id, price }) => ({ id, price, quantity: 1 })),
      products,
      currency,
      widget: type,
      waitUntil: (work: Promise<unknown>) => (done = work),
    };
    if (!this.say_("add-to-cart", detail) || done) {
      await done;
      return true;
    }
    this.core_.warn("nothing answers product-recs:add-to-cart");
    const url = (from ?? products[0])?.url;
    if (url) location.assign(url);
    return false;
  }

  /**
   * Nothing to show: what stood there before the script stays, or nothing at all. A place in
   * sight is kept until it is out of sight, so that nothing moves under a reader's eyes; an
   * empty list's only in the upper part of the screen, where closing it would move much.
   */
  protected async without_(signal: AbortSignal, event: string, detail: object): Promise<void> {
    const isEmpty = event === "empty";
    const isNothing = isEmpty || !this.querySelector(OWN);
    await this.replace_(signal, () => showChildren(this), isNothing, !isEmpty);
    this.say_(event, detail);
  }

  /**
   * Draws something else, in a task of its own; rejects where `signal` comes first. Where it is
   * lower, or `isNothing`, the place stays as high as it was while it is in the upper part of
   * the screen, or `wholly` in sight. Heights are read when the browser has laid out the page
   * anyway: to ask in between would make it do so.
   */
  protected async replace_(
    signal: AbortSignal,
    draw: () => void,
    isNothing = false,
    wholly = false,
  ): Promise<void> {
    signal.throwIfAborted();
    const height = await new Promise<number>((done) => {
      this.observe_(({ boundingClientRect }) => done(boundingClientRect.height));
    }).then(turn);
    signal.throwIfAborted();
    this.hold_(`${height}px`, isNothing);
    draw();
    this.observe_(
      ({ isIntersecting }) => {
        const content = this.shadowRoot!.firstElementChild as HTMLElement;
        if (isIntersecting && (isNothing || content.offsetHeight + 1 < height)) return;
        this.near_!.disconnect();
        this.hidden = isNothing;
        this.hold_("");
      },
      wholly ? "0px" : "-33%",
    );
  }

  private hold_(minBlockSize: string, isNothing = false): void {
    Object.assign(this.style, { minBlockSize, visibility: isNothing ? "hidden" : "" });
  }

  protected get level_(): number {
    return Number(this.dataset.headingLevel) || 2;
  }

  /** Tells the page; returns whether it leaves the rest to the widget. */
  protected say_(name: string, detail: object): boolean {
    return this.dispatchEvent(
      new CustomEvent(`product-recs:${name}`, {
        detail,
        bubbles: true,
        composed: true,
        cancelable: /^click|cart/.test(name),
      }),
    );
  }
}
