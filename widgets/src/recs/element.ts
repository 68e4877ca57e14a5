// <product-recs>: asks when it comes near, draws, and tells what was seen and clicked.

import { languageOf, localeOf } from "../core/money";
import type { Look } from "../core/config";
import type { Core } from "../core/core";
import { frame, showChildren } from "../core/frame";
import { type Product, productsOf } from "../core/product";
import { read, withQuery } from "../core/reading";
import { watchSight } from "../core/sight";
import { drawList, drawWaiting } from "./layouts";
import styles from "./recs.css";
import { ATTRIBUTES, type Request, addressOf, lookBefore, requestOf } from "./request";

const NEAR = "400px";

export function elementOf(core: Core): CustomElementConstructor {
  return class ProductRecsElement extends HTMLElement {
    static readonly observedAttributes = ATTRIBUTES;
    private near_?: IntersectionObserver | undefined;
    private stop_?: AbortController | undefined;
    private unwatch_?: (() => void) | undefined;
    private frame_ = 0;
    private shown_ = "";

    connectedCallback(): void {
      core.attempt(() => {
        if (!this.shadowRoot) this.attachShadow({ mode: "open" });
        if (this.childElementCount) showChildren(this);
        else this.waiting_(this.own_(lookBefore(requestOf(this, core)), ""));
        this.refresh_();
      });
    }

    disconnectedCallback(): void {
      this.rest_();
      this.shown_ = "";
    }

    attributeChangedCallback(_name: string, before: string | null, now: string | null): void {
      if (this.isConnected && before !== now) this.refresh_();
    }

    /** Asks again soon; changes of one moment are one question. */
    private refresh_(): void {
      this.rest_();
      this.frame_ = requestAnimationFrame(() => {
        const { customer, user, item, key, type } = requestOf(this, core);
        core.user = customer || user || core.user;
        // The page of a product says so, whether or not its widgets are ever seen.
        if (item && key && this.dataset.view !== "off") core.view(item, { widget: type }, key);
        if (this.dataset.eager !== undefined) void this.load_();
        else this.wait_();
      });
    }

    private wait_(): void {
      this.near_ = new IntersectionObserver(
        (seen) => {
          if (!seen.some((one) => one.isIntersecting)) return;
          this.near_?.disconnect();
          void this.load_();
        },
        { rootMargin: `0px 0px ${NEAR} 0px` },
      );
      this.hidden = false;
      this.near_.observe(this);
    }

    /** Ends whatever goes on. */
    private rest_(): void {
      cancelAnimationFrame(this.frame_);
      this.near_?.disconnect();
      this.stop_?.abort();
      this.unwatch_?.();
      this.near_ = this.stop_ = this.unwatch_ = undefined;
    }

    private async load_(): Promise<void> {
      const stop = (this.stop_ = new AbortController());
      const request = requestOf(this, core);
      try {
        if (!request.key) throw new Error("data-key is missing");
        const lang = languageOf(this);
        const look = this.own_(await core.look(request.key, request.type, lang), lang);
        if (stop.signal.aborted) return;
        if (!this.shown_ && !this.childElementCount) this.waiting_(look);
        const [reply, own]: any[] = await Promise.all([
          read(addressOf(request, look, core), stop.signal),
          look.layout === "fbt" && this.itself_(request, stop.signal),
        ]);
        if (stop.signal.aborted) return;
        this.show_(productsOf(reply?.recommendations), own, request, look);
      } catch (error) {
        if (stop.signal.aborted) return;
        this.without_("error", { reason: String(error) });
      }
    }

    /** The look with what the element says itself. */
    private own_(look: Look, lang: string): Look {
      const { layout, title, columns } = this.dataset;
      return {
        ...look,
        layout: layout || look.layout,
        title: title ?? look.title,
        columns: Number(columns) || look.columns,
        locale: localeOf(lang, look.locale),
      };
    }

    /** The product of the page: the search finds an exact id first. */
    private async itself_(request: Request, signal: AbortSignal): Promise<Product | null> {
      const query = { q: request.item, num: 1, key: request.key };
      const address = core.facts.base + withQuery("/v1/search", query);
      const found: any = request.item && (await read(address, signal).catch(() => null));
      return productsOf(found?.results).find((one) => one.id === request.item) ?? null;
    }

    private waiting_(look: Look): void {
      frame(this, look, styles, drawWaiting(look, this.level_()));
    }

    private show_(
      products: Product[],
      own: Product | null,
      request: Request,
      look: Look,
    ): void {
      if (!products.length) return this.without_("empty", {});
      const { content, cards } = drawList(products, own, look, this.level_(), {
        clicked: (product, position, origin) =>
          this.clicked_(product, position, request, origin),
        wanted: (chosen, origin) => this.wanted_(chosen, request, look, origin),
      });
      this.unwatch_?.();
      frame(this, look, styles, content);
      this.hidden = false;
      this.shown_ = request.key;
      this.unwatch_ = watchSight([...cards.keys()], (seen) => {
        const indexes = seen.map((card) => cards.get(card) ?? 0).sort((a, b) => a - b);
        const all = indexes.map((index) => products[index]).filter((one) => !!one);
        const fields = {
          item_ids: all.map((one) => one.id),
          sources: all.map((one) => one.source),
          positions: indexes.map((index) => index + 1),
          widget: request.type,
        };
        core.track("rec-impression", fields, request.key);
        this.say_("impression", fields);
      });
      this.say_("loaded", { products, type: request.type });
    }

    /** Nothing to show: what stood there before the script stays, or nothing at all. */
    private without_(event: string, detail: object): void {
      showChildren(this);
      this.hidden = event === "empty" || !this.childElementCount;
      this.shown_ = "";
      this.say_(event, detail);
    }

    private clicked_(
      product: Product,
      position: number,
      { key, type }: Request,
      origin: Event,
    ): void {
      const detail = { product, position, widget: type };
      if (!this.say_("click", detail)) origin.preventDefault();
      const { id, source } = product;
      core.track("rec-click", { item_id: id, source, position, widget: type }, key);
      core.hurry();
    }

    /** Asks the page to put products into its cart; resolves when it has. */
    private async wanted_(
      chosen: readonly Product[],
      { type }: Request,
      look: Look,
      origin: Product | null,
    ): Promise<boolean> {
      let done: Promise<unknown> | undefined;
      const items = chosen.map(({ id, price }) => ({ id, price, quantity: 1 }));
      const detail = {
        items,
        products: chosen,
        currency: look.currency,
        widget: type,
        waitUntil: (work: Promise<unknown>) => (done = work),
      };
      const handled = !this.say_("add-to-cart", detail) || done !== undefined;
      if (handled) {
        await done;
        return true;
      }
      core.warn(
        "nothing on this page puts products into the cart: listen to " +
          "product-recs:add-to-cart, and call preventDefault() on it",
      );
      const url = (origin ?? chosen[0])?.url;
      if (url) location.assign(url);
      return false;
    }

    private level_(): number {
      return Number(this.dataset.headingLevel) || 2;
    }

    /** Tells the page; returns whether it leaves the rest to the widget. */
    private say_(name: string, detail: object): boolean {
      return this.dispatchEvent(
        new CustomEvent(`product-recs:${name}`, {
          detail,
          bubbles: true,
          composed: true,
          cancelable: name === "click" || name === "add-to-cart",
        }),
      );
    }
  };
}
