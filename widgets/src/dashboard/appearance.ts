// The widgets page: the preview follows the form while it is edited.

const KEY = "productrecs-draft";
const frame = document.querySelector<HTMLIFrameElement>("iframe[name=preview]");

function forget(): void {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Storage is refused: the button still shows a preview.
  }
}

forget();
document.addEventListener("htmx:afterSwap", () => {
  const draft = document.querySelector<HTMLElement>("#draft")?.dataset.draft;
  if (!draft || !frame?.contentWindow) return;
  try {
    sessionStorage.setItem(KEY, draft);
    frame.contentWindow.location.replace(frame.src);
  } catch {
    // As above.
  }
});
document.querySelector("[formtarget=preview]")?.addEventListener("click", forget);
addEventListener("pagehide", forget);

/** Lays the preview out at a page's width, and scales it to the place that there is. */
function layOut(width: number): void {
  const place = frame?.parentElement;
  if (!frame || !place) return;
  const scale = Math.min(place.clientWidth / width, 1);
  frame.style.width = `${width}px`;
  frame.style.height = `${100 / scale}%`;
  frame.style.transform = `scale(${scale})`;
}

const widths = document.querySelector<HTMLElement>("[data-widths]");
const buttons = [...(widths?.querySelectorAll<HTMLButtonElement>("button") ?? [])];
let shown = frame && frame.clientWidth < 768 && innerWidth < 768 ? 375 : 1280;

function choose(width: number): void {
  shown = width;
  buttons.forEach((one) => one.setAttribute("aria-pressed", `${Number(one.dataset.width) === width}`));
  layOut(width);
}

if (widths) widths.hidden = false;
buttons.forEach((one) => one.addEventListener("click", () => choose(Number(one.dataset.width))));
choose(shown);
addEventListener("resize", () => layOut(shown));

document.querySelectorAll<HTMLInputElement>("[data-picks]").forEach((picker) => {
  const field = document.getElementById(picker.dataset.picks ?? "");
  if (!(field instanceof HTMLInputElement)) return;
  const follow = (): void => {
    if (/^#[0-9a-f]{6}$/i.test(field.value)) picker.value = field.value;
  };
  picker.hidden = false;
  follow();
  field.addEventListener("input", follow);
  picker.addEventListener("input", () => {
    field.value = picker.value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
});

export {};
