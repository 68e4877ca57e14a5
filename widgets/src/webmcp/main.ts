// /widget/v1/_/webmcp.js: the page's tools for an assistant in the shopper's browser (WebMCP,
// https://webmachinelearning.github.io/webmcp). The scripts of a store that allows it load this
// where the browser has `document.modelContext`.

import { addToCart, recommend, search } from "./tools";

/** The parts of the browser's interface that are used. */
interface ModelContext {
  registerTool(tool: object): Promise<void> | void; // browsers of 2026 return nothing yet
}

declare global {
  interface Document {
    readonly modelContext?: ModelContext;
  }
}

// A page says that its script adds products to the cart; the modules for shop systems do.
const CART = "[data-add-to-cart],[data-pr-add],[data-pr-cart]";

const core = window.ProductRecs?.core;
const browser = document.modelContext;

async function register(): Promise<void> {
  if (!core || !browser) return;
  const hasCart = document.querySelector(CART);
  for (const tool of [search, recommend, ...(hasCart ? [addToCart] : [])]) {
    const execute = async (input: unknown): Promise<object> => {
      try {
        return answer(await tool.run(core, Object(input)));
      } catch (error) {
        return { ...answer({ error: `${error}` }), isError: true };
      }
    };
    try {
      await browser.registerTool({ ...tool.about, execute });
    } catch (error) {
      core.warn(`tool ${tool.about.name}: ${error}`); // the page has one of this name, or forbids tools
    }
  }
}

/** Returns a result in the form of the Model Context Protocol. */
function answer(result: object): object {
  return { content: [{ type: "text", text: JSON.stringify(result) }] };
}

if (document.readyState !== "loading") void register();
else document.addEventListener("DOMContentLoaded", () => void register());
