// Adds to a guide's page: copy buttons, and the reader's own key and domain in the samples.
// Without this script the samples are plain text with placeholders.
(() => {
  "use strict";
  const STORE = "productrecs-guides";
  const KEY = /^pk_(test_)?[A-Za-z0-9]{8,100}$/;
  const SECRET = /^sk_/;
  const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
  const WORDS = {
    secret: "This is a secret key. It belongs on your server only, so it is not used here and "
      + "not stored. Enter the publishable key: it begins with pk_.",
    address: " It was in this page's address, which browsers and logs keep. Replace it now: "
      + "productrecs keys rotate YOUR-DOMAIN.",
    key: "This is not a publishable key. It begins with pk_; productrecs store show prints it.",
    shop: "Enter a domain such as shop.example.com, without https:// and without a path.",
    used: "The samples of all guides now hold your values. They are stored in this browser only.",
    cleared: "The samples hold their placeholders again.",
  };

  const read = () => {
    try {
      return JSON.parse(localStorage.getItem(STORE)) ?? {};
    } catch {
      return {};
    }
  };
  const write = values => {
    try {
      if (values.key || values.shop) localStorage.setItem(STORE, JSON.stringify(values));
      else localStorage.removeItem(STORE);
    } catch {
      // The browser stores nothing: the values hold for this page.
    }
  };

  const marked = [...document.querySelectorAll("[data-yours]")];
  const placeholders = new Map(marked.map(one => [one, one.textContent]));
  const fill = values => {
    for (const one of marked) {
      one.textContent = values[one.dataset.yours] || placeholders.get(one);
    }
  };

  const addCopyButton = sample => {
    const box = document.createElement("div");
    const button = document.createElement("button");
    box.className = "sample";
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this sample");
    button.addEventListener("click", async () => {
      const said = await copy(sample) ? "Copied" : "Press Ctrl+C";
      button.textContent = said;
      button.setAttribute("aria-label", said);
      setTimeout(() => {
        button.textContent = "Copy";
        button.setAttribute("aria-label", "Copy this sample");
      }, 2000);
    });
    sample.replaceWith(box);
    box.append(sample, button);
  };
  const copy = async sample => {
    try {
      await navigator.clipboard.writeText(sample.textContent.trimEnd());
      return true;
    } catch {
      // Pages that are not https have no clipboard: select the sample instead.
      getSelection().selectAllChildren(sample);
      return document.execCommand("copy");
    }
  };
  document.querySelectorAll("article pre").forEach(addCopyButton);

  const form = document.querySelector("form.yours");
  const say = (words, isWrong = false) => {
    form.querySelector("[role=status]").textContent = words;
    form.classList.toggle("wrong", isWrong);
    form.closest("details").open = true;
  };
  const problem = ({ key = "", shop = "" }) => {
    if (SECRET.test(key)) return WORDS.secret;
    if (key && !KEY.test(key)) return WORDS.key;
    return shop && !DOMAIN.test(shop) ? WORDS.shop : "";
  };
  let values = read();
  if (problem(values)) values = {};
  const use = asked => {
    const wrong = problem(asked);
    if (wrong) return say(wrong, true);
    values = asked;
    write(values);
    fill(values);
    return say(values.key || values.shop ? WORDS.used : WORDS.cleared);
  };

  const address = new URL(location.href);
  const given = ["key", "shop"].filter(name => address.searchParams.has(name));
  if (given.length) {
    const asked = { ...values };
    for (const name of given) {
      asked[name] = address.searchParams.get(name).trim();
      address.searchParams.delete(name);
    }
    history.replaceState(null, "", address);
    const wrong = problem(asked);
    if (!wrong) {
      values = asked;
      write(values);
    } else if (form) {
      say(wrong + (SECRET.test(asked.key) ? WORDS.address : ""), true);
    }
  }
  fill(values);
  if (!form) return;
  form.closest("details").hidden = false;
  form.elements.key.value = values.key ?? "";
  form.elements.shop.value = values.shop ?? "";
  form.addEventListener("submit", event => {
    event.preventDefault();
    const key = form.elements.key.value.trim();
    use({ key, shop: form.elements.shop.value.trim().toLowerCase() });
    if (SECRET.test(key)) form.elements.key.value = "";
  });
  form.addEventListener("reset", () => use({}));
})();
