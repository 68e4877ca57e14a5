// A page's script as the guide has it: what is published must describe it.

declare function putIntoCart(items: readonly { id: string; quantity: number }[]): Promise<void>;

document.addEventListener("product-recs:add-to-cart", (event) => {
  event.preventDefault();
  const { items, currency } = event.detail;
  event.detail.waitUntil(
    putIntoCart(items).then(() => {
      for (const { id, price, quantity } of items) {
        const value = (price ?? 0) * quantity;
        ProductRecs.track("add-to-cart", { item_id: id, value, currency, quantity });
      }
    }),
  );
});
document.querySelector("product-recs")?.addEventListener("product-recs:click", (event) => {
  const title: string = (event as HTMLElementEventMap["product-recs:click"]).detail.product.title;
  ProductRecs.consent(title !== "");
});
// @ts-expect-error: there is no such call
ProductRecs.remember();
