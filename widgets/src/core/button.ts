// The buttons that ask the page to add products to its cart.

import type { Words } from "./config";
import { draw } from "./drawing";
import type { Product } from "./product";

/** Returns whether the page has added the products to its cart. */
export type Wanted = (chosen: readonly Product[]) => Promise<boolean>;

/** Returns the button that adds one product; `wanted` resolves when it is in the cart. */
export function addButton(product: Product, words: Words, wanted: Wanted): HTMLElement {
  const text = draw("span", {}, words.add);
  const attributes = {
    class: "button",
    part: "button",
    "aria-label": `${words.add}: ${product.title}`,
  };
  const button = draw("button", attributes, text);
  button.addEventListener("click", () => {
    void press(button, text, words.add, words, () => wanted([product]));
  });
  return button;
}

/** Performs the action of a button, and shows the outcome on it. */
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
