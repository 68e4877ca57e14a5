// The dashboard's script: copy buttons, the switch of light and dark, the menu on phones, and
// the values of charts, fields that suggest, unsaved changes, and the keys of the search box at the
// top: "/" focuses it, arrows move through its results.
// It runs in the head, so that a chosen theme is there before anything is drawn. Every page
// works without it.
import { prepareCards } from "./cards";
import { prepareCharts } from "./chart";
import { guardForm } from "./guard";
import { prepareSuggestions } from "./suggest";

const root = document.documentElement;
const THEME = "productrecs-theme";

function stored(): string | null {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null; // storage is refused: the system's theme it is
  }
}

function switchTheme(): void {
  const isDark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  try {
    localStorage.setItem(THEME, root.dataset.theme);
  } catch {
    // It holds for this page.
  }
}

async function copy(button: HTMLElement): Promise<void> {
  const text = button.parentElement?.querySelector("code")?.textContent ?? "";
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy";
  }
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

function prepare(within: ParentNode): void {
  within.querySelectorAll<HTMLElement>("[data-copy], [data-theme-switch]").forEach((button) => {
    button.hidden = false;
  });
  prepareCards(within);
  prepareSuggestions(within);
}

const theme = stored();
if (theme === "light" || theme === "dark") root.dataset.theme = theme;

document.addEventListener("DOMContentLoaded", () => {
  prepare(document);
  prepareCharts();
  guardForm();
  if (matchMedia("(max-width: 55.99rem)").matches) {
    document.querySelector("[data-side]")?.removeAttribute("open");
  }
});
// The first message of a refused form is in view, and its field has the focus. After `load`: the
// browser has followed the address's fragment by then.
addEventListener("load", () => {
  const message = document.querySelector<HTMLElement>("[data-refused] .error");
  if (!message) return;
  message.closest("details")?.setAttribute("open", "");
  const field = message.closest(".field")?.querySelector<HTMLElement>("[aria-invalid]:not([hidden])");
  if (!field) message.tabIndex = -1;
  (field ?? message).focus({ preventScroll: true });
  message.scrollIntoView({ block: "center" });
});
// What was wrong with a field is no longer known once it was changed.
document.addEventListener("input", ({ target }) => {
  if (!(target instanceof Element) || !target.matches("[aria-invalid]")) return;
  target.removeAttribute("aria-invalid");
  const message = target.closest(".field")?.querySelector("p.error");
  if (message) message.className = "away";
});
document.addEventListener("htmx:load", (event) => {
  if (event.target instanceof Element) prepare(event.target);
});
function finderKey(event: KeyboardEvent): void {
  const at = document.activeElement;
  const finder = document.querySelector<HTMLFormElement>("[data-finder]");
  const field = finder?.querySelector("input");
  if (!finder || !field || event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = at instanceof HTMLElement && at.matches("input, textarea, select");
  if (event.key === "/" && !isTyping && field.offsetParent) {
    event.preventDefault();
    field.focus();
  } else if (finder.contains(at) && /^(ArrowDown|ArrowUp|Escape)$/.test(event.key)) {
    event.preventDefault();
    const stops: HTMLElement[] = [field, ...finder.querySelectorAll("a")];
    const next = stops.indexOf(at as HTMLElement) + (event.key === "ArrowUp" ? -1 : 1);
    if (event.key === "Escape") (at as HTMLElement).blur();
    else stops[(next + stops.length) % stops.length]?.focus();
  }
}

// The time zone of who registers a store; Your store shows it, and can change it.
document.addEventListener("DOMContentLoaded", () => {
  const zone = document.querySelector<HTMLInputElement>("[data-timezone]");
  if (zone) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
});
document.addEventListener("keydown", finderKey);
document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const button = target?.closest<HTMLElement>("[data-copy], [data-theme-switch]");
  if (button && "copy" in button.dataset) void copy(button);
  else if (button) switchTheme();
  document.querySelectorAll("details.menu[open]").forEach((menu) => {
    if (target && !menu.contains(target)) menu.removeAttribute("open");
  });
});
