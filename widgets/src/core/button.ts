// The buttons that ask the page to put products into its cart.

import type { Words } from "./config";
import { draw } from "./drawing";
import type { Product } from "./product";

/** Returns whether the page has put the products into its cart. */
export type Wanted = (
  chosen: readonly Product[],
  from?: Product,
) => Promise<boolean>;

/** Returns the button that asks for one product; `wanted` resolves when the cart has it. */
export function addButton(product: Product, words: Words, wanted: Wanted): HTMLElement {
  const text = draw("span", {}, words.add);
  const attributes = {
    class: "button",
    part: "button",
    "aria-label": `${words.add}: ${product.title}`,
  };
  const button = draw("button", attributes, text);
  button.addEventListener("click", () => {
    void press(button, text, words.add, words, () => wanted([product], product));
  });
  return button;
}

/** Does what a button is for, and says on the button how it went. */
export async function press(
  button: HTMLElement,
  text: HTMLElement,
  usual: string,
  words: Words,
  act: () => Promise<boolean>,
): Promise<void> {
  if (button.ariaBusy === "true") return;
  button.ariaBusy = "true";
  text.setAttribute("role", "status");
  try {
    if (await act()) text.textContent = words.added;
  } catch {
    text.textContent = words.failed;
  }
  button.ariaBusy = "false";
  setTimeout(() => (text.textContent = usual), 2_500);
}
