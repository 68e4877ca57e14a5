// <product-recs>: a list of products that belong on this page.

import type { Core } from "../core/core";
import { OWN, frame } from "../core/frame";
import { NearElement } from "../core/near";
import { productOf, productsOf } from "../core/product";
import { read } from "../core/reading";
import { drawList, drawWaiting } from "./layouts";
import styles from "./recs.css";
import { ATTRIBUTES, type Request, addressOf, lookBefore, requestOf } from "./request";

export function elementOf(core: Core): CustomElementConstructor {
  return class ProductRecsElement extends NearElement {
    static readonly observedAttributes = ATTRIBUTES;
    private shown_?: boolean;

    protected get core_(): Core {
      return core;
    }

    protected place_(): Request {
      return requestOf(this, core);
    }

    protected reserve_(): void {
      this.shown_ = false;
      const look = this.own_(lookBefore(this.place_()));
      frame(this, look, styles, drawWaiting(look, this.level_, this.template_));
    }

    private get template_(): HTMLTemplateElement | null {
      return this.querySelector(":scope > template");
    }

    protected async load_(signal: AbortSignal): Promise<void> {
      const request = this.place_();
      if (this.dataset.ssr !== undefined) return this.adopt_(request);
      const look = await this.look_(request);
      signal.throwIfAborted();
      if (!this.shown_ && !this.querySelector(OWN)) {
        frame(this, look, styles, drawWaiting(look, this.level_, this.template_));
      }
      const { body } = await read(addressOf(request, look, core), signal);
      signal.throwIfAborted();
      const own = productOf(body.anchor);
      const products = productsOf(body.recommendations);
      this.shown_ = !!products.length;
      if (!this.shown_) return this.without_(signal, "empty", {});
      const drawn = await drawList(products, own, look, this.level_, {
        template_: this.template_,
        clicked_: (product, position, origin) =>
          this.clicked_(product, position, request, origin),
        wanted_: (chosen, from) => this.wanted_(chosen, look, request, from),
      });
      await this.replace_(signal, () => frame(this, look, styles, drawn.content_));
      drawn.begin_?.();
      this.watch_(drawn.cards_, products, request);
      this.say_("loaded", { products, type: request.type });
    }

    /** Takes cards that the shop's server has drawn: tells their sight and clicks, asks nothing. */
    private adopt_(request: Request): void {
      // Among its children, or in a shadow tree that the page declared.
      const cards = [this, this.shadowRoot!].flatMap((tree) => [
        ...tree.querySelectorAll<HTMLElement>("[data-id]:not([data-id=''])"),
      ]);
      const products = productsOf(cards.map(({ dataset }) => dataset));
      cards.forEach((card, at) => {
        card.addEventListener("click", (event) => {
          this.clicked_(products[at]!, at + 1, request, event);
        });
      });
      this.watch_(cards, products, request);
    }
  };
}
