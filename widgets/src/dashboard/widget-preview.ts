// The preview of a widget: the service's calls are answered from this document, so that the
// preview costs no call, sends no event and shows settings that are not saved yet.

interface Told {
  readonly config: { readonly type: string };
  readonly products: readonly { readonly id: string }[];
  readonly look: object | null; // of the preview of looks
}

const KEY = "productrecs-draft";
const told: Told = JSON.parse(document.querySelector("#told")?.textContent ?? "{}");

function config(): unknown {
  try {
    const draft = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    return draft?.type === told.config.type ? draft : told.config;
  } catch {
    return told.config;
  }
}

function listed(query: URLSearchParams): object {
  const num = Number(query.get("num")) || 8;
  const own = query.get("item_id") ?? query.get("item_ids");
  const shown = told.products.filter((one) => one.id !== own).slice(0, num);
  const anchor = query.get("anchor") && told.products.find((one) => one.id === own);
  return { recommendations: shown, ...(anchor && { anchor }) };
}

function answer(url: URL): object | null {
  switch (url.pathname) {
    case "/v1/widget-config":
      return config() as object;
    case "/v1/recommendations":
    case "/v1/trending":
      return listed(url.searchParams);
    case "/v1/search":
      return { results: told.products.slice(0, Number(url.searchParams.get("num")) || 8) };
    case "/v1/looks":
      return { look: told.look };
    case "/v1/events":
      return { ok: true };
    default:
      return null;
  }
}

const real = window.fetch.bind(window);
window.fetch = (input, init) => {
  const address = input instanceof Request ? input.url : String(input);
  const made = answer(new URL(address, location.href));
  if (!made) return real(input, init);
  const headers = { "content-type": "application/json" };
  return Promise.resolve(new Response(JSON.stringify(made), { headers }));
};
navigator.sendBeacon = () => true;
document.addEventListener("click", (event) => {
  const target = event.composedPath()[0];
  if (target instanceof Element && target.closest("a")) event.preventDefault();
}, true);
document.addEventListener("submit", (event) => event.preventDefault(), true);
addEventListener("load", () => {
  const box = document.querySelector<HTMLInputElement>("input[data-word]");
  if (!box) return;
  setTimeout(() => {
    box.focus({ preventScroll: true });
    box.value = box.dataset.word ?? "";
    box.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }, 200);
});

export {};
