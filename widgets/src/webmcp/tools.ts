// The tools: each makes the calls of the shop's own pages, with the publishable key.

import type { Core } from "../core/core";
import { languageOf } from "../core/money";
import { type Product, productOf, productsOf } from "../core/product";
import { type Reply, read, withQuery } from "../core/reading";
import { sessionId } from "../core/session";

type Input = Readonly<Record<string, unknown>>;

export interface Tool {
  /** What the browser tells assistants. */
  readonly about: Readonly<{ name: string } & Record<string, unknown>>;
  /** Returns the result of a call; an error is told to the assistant. */
  run(core: Core, input: Input): Promise<object>;
}

const USUAL = 8;
const MOST = 20;
const MOST_WORDS = 256;
const MOST_PIECES = 99;
const SOURCES: Readonly<Record<string, string>> = {
  similar: "similar", bought_together: "buy", any: "mix",
};

const LIMIT = {
  type: "integer", minimum: 1, maximum: MOST,
  description: `The most products to return; ${USUAL} if left out.`,
};
const readOnly = { readOnlyHint: true };

export const search: Tool = {
  about: {
    name: "search",
    title: "Search the shop",
    description:
      "Searches this shop's products and returns the best matches first, with price and page. " +
      "Corrects typing mistakes. Use it when the user looks for a product.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "What the user looks for, such as: tent for two" },
        min_price: { type: "number", minimum: 0, description: "The lowest price, in the shop's currency." },
        max_price: { type: "number", minimum: 0, description: "The highest price, in the shop's currency." },
        in_stock: { type: "boolean", description: "True for products that can be bought now only." },
        limit: LIMIT,
      },
      required: ["query"],
    },
    annotations: readOnly,
  },
  async run(core, input) {
    const words = textOf(input.query).slice(0, MOST_WORDS);
    if (!words) throw "query is empty: say what to search for";
    const [low, high] = [numberOf(input.min_price), numberOf(input.max_price)];
    const isPriced = low || high !== undefined;
    const reply = await ask(core, "search", {
      q: words,
      num: limitOf(input),
      collapse: true,
      in_stock: input.in_stock === true,
      filter: isPriced && `price:${low ?? 0}..${high ?? ""}`,
    });
    const isRelaxed = reply.headers_.get("x-search-relaxed");
    return {
      ...(await listed(core, productsOf(reply.body_.results))),
      ...(isRelaxed && { note: "Nothing matches all words exactly; these come closest." }),
    };
  },
};

export const recommend: Tool = {
  about: {
    name: "recommend",
    title: "Recommend products",
    description:
      "Returns products of this shop that go with a product, or, without one, with the page that " +
      "the user sees and what the user has looked at.",
    inputSchema: {
      type: "object",
      properties: {
        product_id: { type: "string", description: "The id of a product, from another result." },
        kind: {
          type: "string", enum: Object.keys(SOURCES),
          description: "similar: alternatives. bought_together: additions to it. Both need a product.",
        },
        limit: LIMIT,
      },
    },
    annotations: readOnly,
  },
  async run(core, input) {
    const item = textOf(input.product_id) || itemOfPage();
    const source = SOURCES[textOf(input.kind)] ?? "mix";
    if (!item && source !== "mix") throw "this page shows no product: name product_id";
    const reply = await ask(core, "recommendations", { item_id: item, source, num: limitOf(input) });
    return listed(core, productsOf(reply.body_.recommendations));
  },
};

export const addToCart: Tool = {
  about: {
    name: "add_to_cart",
    title: "Add to cart",
    description: "Adds a product of this shop to the user's cart. The user pays on the shop's own pages.",
    inputSchema: {
      type: "object",
      properties: {
        product_id: { type: "string", description: "The id of the product, from another result." },
        quantity: { type: "integer", minimum: 1, maximum: MOST_PIECES, description: "How many; 1 if left out." },
      },
      required: ["product_id"],
    },
  },
  async run(core, input) {
    const item = textOf(input.product_id);
    const quantity = Math.floor(numberOf(input.quantity) ?? 1);
    if (quantity < 1 || quantity > MOST_PIECES) throw `quantity is 1 to ${MOST_PIECES}`;
    // Only what the shop's pages show can be added, at its price.
    const { body_: body } = await ask(core, "recommendations", { item_id: item, anchor: true, num: 1 });
    const product = item ? productOf(body.anchor) : null;
    if (!product) throw "the shop has no such product: use an id from a result of search";
    if (body.sold_out) throw `${product.title} is sold out`;
    const currency = (await core.look(core.keyOf(), "search", lang(), priceList())).currency;
    await fillCart(product, quantity, currency);
    return { added: shown(product), quantity, currency };
  },
};

/** Asks the page to add a product to its cart, as a widget's button does. */
async function fillCart(product: Product, quantity: number, currency: string): Promise<void> {
  let done: Promise<unknown> | undefined;
  const { id, price } = product;
  const detail = {
    items: [{ id, price, quantity }],
    products: [product],
    currency,
    widget: "assistant",
    waitUntil: (work: Promise<unknown>) => (done = work),
  };
  const event = new CustomEvent("product-recs:add-to-cart", { detail, bubbles: true, cancelable: true });
  if ((document.body ?? document).dispatchEvent(event) && !done) throw `the page did not add it; its page is ${product.url}`;
  try {
    await done;
  } catch {
    throw `the shop could not add it, for example because it has options to choose; its page is ${product.url}`;
  }
}

/** Calls the service as the page's widgets do; without consent it names no shopper. */
function ask(core: Core, call: string, parameters: Parameters<typeof withQuery>[1]): Promise<Reply> {
  const { consent, user, identity } = core;
  const query = {
    ...parameters,
    user_id: consent.given && (user || sessionId()),
    session_id: consent.given && user && sessionId(),
    identity: consent.given && user && identity,
    key: core.keyOf(),
    price_list: priceList(),
    assistant: true,
  };
  return read(withQuery(`${core.facts.base}/v1/${call}`, query));
}

async function listed(core: Core, products: readonly Product[]): Promise<object> {
  const { currency } = await core.look(core.keyOf(), "search", lang(), priceList());
  return { currency, products: products.map(shown) };
}

const shown = ({ id, title, price, url, image }: Product): object => ({ id, title, price, url, image });

const lang = (): string => languageOf(document.body ?? document.documentElement);

const priceList = (): string | undefined =>
  document.querySelector("[price-list]")?.getAttribute("price-list") ?? undefined;

const itemOfPage = (): string =>
  document.querySelector<HTMLElement>("[data-item-id]")?.dataset.itemId ?? "";

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? `${value}`.trim() : "";

function numberOf(value: unknown): number | undefined {
  return Number.isFinite(value) && (value as number) >= 0 ? (value as number) : undefined;
}

const limitOf = ({ limit }: Input): number => Math.min(Math.max(Math.floor(numberOf(limit) ?? USUAL), 1), MOST);
