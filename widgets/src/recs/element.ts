// <product-recs>: a list of products that belong on this page.

import type { Core } from "../core/core";
import { OWN, frame } from "../core/frame";
import type { Look } from "../core/config";
import { slide } from "../core/motion";
import { NearElement, isAnchor } from "../core/near";
import type { List } from "../core/page";
import { type Product, productOf, productsOf } from "../core/product";
import { read } from "../core/reading";
import { drawList, drawWaiting } from "./layouts";
import styles from "./recs.css";
import { MOST, type Request, addressOf, numOf, requestOf } from "./request";

const MOST_EXCLUDED = 100;

export function elementOf(core: Core): CustomElementConstructor {
  return class ProductRecsElement extends NearElement {
    private shown_?: number; // products

    protected get core_(): Core {
      return core;
    }

    protected place_(): Request {
      return requestOf(this, core);
    }

    private get template_(): HTMLTemplateElement | null {
      return this.querySelector(":scope > template");
    }

    protected async load_(signal: AbortSignal): Promise<void> {
      const request = this.place_();
      if (this.dataset.ssr != null) return this.adopt_(request);
      const list = core.page.join(this, request.source === "buy");
      try {
        const look = await this.look_(request);
        signal.throwIfAborted();
        if (!this.shown_ && !this.querySelector(OWN)) {
          const waiting = drawWaiting(look, this.level_, this.template_);
          slide(this, () => frame(this, look, styles, waiting));
        }
        const [body, products] = await this.ask_(request, look, list, signal);
        // If the page's product cannot be bought, the list begins with replacements.
        look.title = body.sold_out ? look.strings.sold_out : body.placement?.title ?? look.title;
        list.ids = products.map(({ id }) => id);
        list.end();
        this.shown_ = products.length;
        if (!this.shown_) return this.without_("empty", {});
        const drawn = await drawList(products, productOf(body.anchor), look, this.level_, {
          template_: this.template_,
          clicked_: (product, origin) => this.clicked_(product, request, origin),
          wanted_: (chosen) => this.wanted_(chosen, look, request),
          price_: body.bundle?.price,
        });
        signal.throwIfAborted();
        this.settle_(() => frame(this, look, styles, drawn.content_));
        drawn.begin_?.();
        this.watch_(drawn.cards_, products, request);
        this.say_("loaded", { products, type: request.type });
      } finally {
        list.end();
      }
    }

    /** Requests products that no other list of the page shows; again if there are too few. */
    private async ask_(request: Request, look: Look, list: List, signal: AbortSignal): Promise<[any, Product[]]> {
      const { page } = core;
      const usual = numOf(look);
      const isUnique = this.dataset.allowDuplicates == null;
      const most = request.placement_ || (isUnique && page.before(list).length) ? MOST : usual;
      const answer = async (wanted: number, taken: readonly string[]) =>
        (await read(addressOf(request, look, core, wanted, `${taken}`), signal)).body_;
      let body = await answer(most, []);
      const { num = usual, minimum = 0 } = body.placement ?? {};
      let products = productsOf(body.recommendations);
      if (isUnique) {
        const isMore = products.length === most;
        const taken = await page.taken(list);
        const isFree = ({ id }: Product) => !taken.includes(id) && !isAnchor(id, request.item);
        products = products.filter(isFree);
        if (isMore && products.length < num) {
          body = await answer(MOST, taken.slice(0, MOST_EXCLUDED));
          products = productsOf(body.recommendations).filter(isFree);
        }
      }
      return [body, products.slice(0, products.length < minimum ? 0 : num)];
    }

    /**
     * Uses cards that the shop's server has rendered: reports their impressions and clicks, and
     * sends no request.
     */
    private adopt_(request: Request): void {
      // Among its children, or in a shadow tree that the page declared.
      const cards = [this, this.shadowRoot!].flatMap((tree) => [
        ...tree.querySelectorAll<HTMLElement>("[data-id]:not([data-id=''])"),
      ]);
      const products = productsOf(cards.map(({ dataset }) => dataset));
      cards.forEach((card, at) => {
        card.addEventListener("click", (event) => {
          this.clicked_(products[at]!, request, event);
        });
      });
      this.watch_(cards, products, request);
      core.page.join(this, true, products.map(({ id }) => id));
      this.dataset.settled = "";
    }
  };
}
