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

export {};
