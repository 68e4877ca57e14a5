// The base of our elements: it requests data near the viewport, and cleans up when it is removed.

import { ATTRIBUTES, OTHERS } from "./attributes";
import type { Look } from "./config";
import type { Core } from "./core";
import { OWN, showChildren } from "./frame";
import { languageOf, localeOf } from "./money";
import { slide } from "./motion";
import { patience } from "./patience";
import type { Product } from "./product";
import { watchSight } from "./sight";
import { turn } from "./turns";

const NEAR = "400px";

/** The context of an element: its key, its widget type, and the product of its page. */
export interface Place {
  readonly key: string;
  readonly type: string;
  readonly item: string;
}

/**
 * Returns whether a product is the subject of the list or of the page. It may be shown, but is
 * never reported as recommended, because its visitors came for it anyway.
 */
export function isAnchor(id: string, item: string): boolean {
  if (id === item) return true;
  const named = document.querySelectorAll<HTMLElement>("product-recs,product-look");
  return [...named].some(({ dataset }) => dataset.itemId === id && dataset.view !== "off");
}

export abstract class NearElement extends HTMLElement {
  static get observedAttributes(): string[] {
    return ATTRIBUTES;
  }

  private near_?: IntersectionObserver;
  private stop_?: AbortController;
  private unwatch_?: () => void;
  private products_: readonly Product[] = [];

  protected abstract get core_(): Core;
  protected abstract place_(): Place;
  /**
   * Requests and renders until `signal` aborts; an error becomes the event `error`. `whole`
   * aborts when other content is wanted, or when the element is removed.
   */
  protected abstract load_(signal: AbortSignal, whole: AbortSignal): Promise<void>;

  connectedCallback(): void {
    this.core_.attempt(() => {
      if (!this.shadowRoot) {
        this.attachShadow({ mode: "open" });
        showChildren(this);
      }
      this.refresh_();
    });
  }

  disconnectedCallback(): void {
    this.rest_();
  }

  attributeChangedCallback(_name: string, before: string | null, now: string | null): void {
    if (this.isConnected && before !== now) this.refresh_();
  }

  /** Requests again soon; several changes at one moment cause one request. */
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
    for (const name of this.getAttributeNames()) {
      if (!(name in this || ATTRIBUTES.includes(name) || OTHERS.test(name))) core.warn(`unknown ${name}`);
    }
    const { customerId, userId, view, eager } = this.dataset;
    const named = customerId || (userId ?? customerId);
    if (named != null) core.user = core.customer(named); // empty: nobody is signed in
    // A product page reports its view, whether or not its widgets come into view.
    if (item && key && view !== "off") core.view(item, { widget: type }, key);
    this.hidden = false;
    const go = (): void => {
      this.near_?.disconnect();
      const limit = patience();
      signal.addEventListener("abort", () => limit.abort());
      turn(limit.signal)
        .then((ends) => {
          ends.throwIfAborted();
          return this.load_(ends, signal);
        })
        .catch((error) => {
          if (!signal.aborted) this.without_("error", { reason: `${error}` });
        });
    };
    if (eager != null) return go();
    const options = { rootMargin: `0px 0px ${NEAR}` };
    this.near_ = new IntersectionObserver((seen) => seen.pop()!.isIntersecting && go(), options);
    this.near_.observe(this);
  }

  /** Aborts everything that is running. */
  private rest_(): void {
    this.near_?.disconnect();
    this.stop_?.abort();
    this.unwatch_?.();
    this.core_.page.leave(this);
  }

  /** The settings of the widget type, overridden by the element's attributes. */
  protected async look_({ key, type }: Place): Promise<Look> {
    if (!key) throw "no data-key";
    const lang = languageOf(this);
    const list = this.getAttribute("price-list");
    const look = await this.core_.look(key, type, lang, list).then(turn);
    return { ...this.own_(look), locale: localeOf(lang, look.locale) };
  }

  protected own_(look: Look): Look {
    const { layout, title, columns, num } = this.dataset;
    return {
      ...look,
      layout: layout || look.layout,
      title: title ?? look.title,
      columns: +columns! || look.columns,
      num: Math.abs(parseInt(num!)) || look.num,
    };
  }

  /** Reports from now on which products are seen, by the card at each position. */
  protected watch_(
    cards: readonly Element[],
    products: readonly Product[],
    { key, type, item }: Place,
  ): void {
    this.unwatch_?.();
    this.products_ = products;
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

  /**
   * Reports that a product was chosen, at once, because the page may close. With `origin`, a click
   * on its link, the page may prevent the navigation.
   */
  protected clicked_(product: Product, { key, type, item }: Place, origin?: Event): void {
    const { id, source } = product;
    if (isAnchor(id, item)) return;
    const position = this.products_.indexOf(product) + 1;
    if (origin && !this.say_("click", { product, position, widget: type })) origin.preventDefault();
    this.core_.track("rec-click", { item_id: id, source, position, widget: type }, key);
    this.core_.hurry();
  }

  /** Asks the page to add products to its cart, each a click; returns whether it has. */
  protected async wanted_(
    products: readonly Product[],
    { currency }: Look,
    place: Place,
  ): Promise<boolean> {
    for (const one of products) this.clicked_(one, place);
    let done: Promise<unknown> | undefined;
    const detail = {
      items: products.map(({ id, price }) => ({ id, price, quantity: 1 })),
      products,
      currency,
      widget: place.type,
      waitUntil: (work: Promise<unknown>) => (done = work),
    };
    if (!this.say_("add-to-cart", detail) || done) {
      await done;
      return true;
    }
    this.core_.warn("add-to-cart ignored");
    const url = products[0]?.url;
    if (url) location.href = url;
    return false;
  }

  /** No content: the element shows its own children, if any. */
  protected without_(event: string, detail: object): void {
    const isNothing = event === "empty" || !this.querySelector(OWN);
    this.settle_(() => showChildren(this), isNothing);
    this.say_(event, detail);
  }

  /** Renders the final content, and releases the height that the page reserved. */
  protected settle_(draw: () => void, isNothing = false): void {
    slide(this, () => {
      draw();
      this.dataset.settled = "";
      this.hidden = isNothing;
    });
  }

  protected get level_(): number {
    return +this.dataset.headingLevel! || 2;
  }

  /**
   * Dispatches an event on the page; returns whether the page left the default action to the
   * widget.
   */
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
