// The shop's own script: what only a shop knows, told to ProductRecs; and a cart that needs
// no new page. Everything works without it.
"use strict";
window.ProductRecs ||= { q: [], track() { this.q.push(arguments); } };

const page = document.body.dataset;
const customer = page.customer ? { user_id: page.customer } : {};
const tell = (event, fields) => window.ProductRecs.track(event, { ...customer, ...fields });

// Where the service's script does not come, the page closes over the places of its widgets:
// over those in sight when they have left it, so that nothing moves under a reader's eyes.
const PATIENCE_MS = 3000; // it begins a while after the page is whole, on a slow device
addEventListener("load", () => {
  const closing = new IntersectionObserver((places) => {
    for (const { target, isIntersecting } of places) target.hidden ||= !isIntersecting;
  });
  const late = setTimeout(() => {
    document.querySelectorAll("product-recs").forEach((place) => closing.observe(place));
  }, PATIENCE_MS);
  customElements.whenDefined("product-recs").then(() => {
    clearTimeout(late);
    closing.disconnect();
  });
});

// What this page is about.
if (page.page === "category") tell("category-view", { item_id: page.category });
if (page.colour) tell("metadata-pref", { item_id: page.colour });
// The search box reports its own searches; a search by a link is reported here.
document.addEventListener("click", ({ target }) => {
  const link = target.closest('a[href*="/search?q="]');
  if (link) tell("search-pref", { search_query: new URL(link.href).searchParams.get("q") });
});
document.querySelector("[data-results]")?.addEventListener("click", (event) => {
  const item = event.target.closest("[data-item]")?.dataset.item;
  if (item) tell("search-click", { item_id: item, search_query: page.query, widget: "search" });
});

// The shop's server sends orders with the session's id: a first-party cookie carries it there.
const mirror = () => {
  try {
    const id = localStorage.getItem("pr_sid");
    if (/^s_[A-Za-z0-9]+$/.test(id ?? "")) {
      document.cookie = `pr_sid=${id}; Path=/demo; Max-Age=15552000; SameSite=Lax`;
    }
  } catch { /* a browser that stores nothing orders all the same */ }
};
addEventListener("pagehide", mirror);
document.addEventListener("submit", mirror, true);

// Choosing is asking.
document.querySelector(".tools")?.addEventListener("change", (event) => {
  event.currentTarget.requestSubmit();
});

// The menu of people closes by itself.
const who = document.querySelector(".who");
for (const leaving of ["click", "focusin"]) {
  document.addEventListener(leaving, (event) => {
    if (!who.contains(event.target)) who.open = false;
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && who.open) {
    who.open = false;
    who.querySelector("summary").focus();
  }
});

const said = document.getElementById("said");
let silence;
function say(words, link) {
  said.textContent = words;
  if (link) {
    const to = document.createElement("a");
    to.href = "/demo/cart";
    to.textContent = link;
    said.append(" ", to);
  }
  said.classList.add("up");
  clearTimeout(silence);
  silence = setTimeout(() => said.classList.remove("up"), 5000);
}

/** Puts units of a product into the cart; resolves to the cart. */
async function put(item, more) {
  const reply = await fetch("/demo/cart", {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams({ item_id: item, more }),
  });
  if (!reply.ok) throw new Error(`the cart answered ${reply.status}`);
  const cart = await reply.json();
  document.getElementById("count").textContent = cart.count;
  return cart;
}

document.querySelector("form[data-add]")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const item = form.elements.item_id.value;
  const quantity = Math.max(1, Math.trunc(Number(form.elements.more.value)) || 1);
  try {
    await put(item, quantity);
    const value = Math.round(Number(page.price) * quantity * 100) / 100;
    tell("add-to-cart", { item_id: item, value, currency: "EUR", quantity });
    say("In your cart.", "See it");
  } catch {
    form.submit();
  }
});

// A widget's button wants products in the cart: the shop knows how.
document.addEventListener("product-recs:add-to-cart", (event) => {
  event.preventDefault();
  const { items, currency, widget } = event.detail;
  event.detail.waitUntil((async () => {
    for (const { id, price, quantity } of items) {
      await put(id, quantity);
      tell("add-to-cart", { item_id: id, value: price * quantity, currency, quantity, widget });
    }
    say(items.length > 1 ? "All in your cart." : "In your cart.", "See it");
    if (page.page === "cart") location.reload();
  })());
});
