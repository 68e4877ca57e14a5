// Forms with changes that are not saved: leaving the page asks first. A link or another form of
// the page asks in a dialog of the page; closing the tab asks in the browser's own.
let changed: HTMLFormElement | null = null;

function ask(leave: () => void): void {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "unsaved-title");
  dialog.innerHTML =
    '<h2 id="unsaved-title">Leave without saving?</h2><p>Your changes on this page are not saved.</p>' +
    '<form method="dialog" class="inline"><button class="button" value="stay" autofocus>Stay on this page</button>' +
    '<button class="button second" value="leave">Leave without saving</button></form>';
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (dialog.returnValue !== "leave") return;
    changed = null;
    leave();
  });
  document.body.append(dialog);
  dialog.showModal();
}

function guardLinks(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  const isOther = event.button || event.ctrlKey || event.metaKey || event.shiftKey;
  if (!changed || !(link instanceof HTMLAnchorElement) || isOther || link.target) return;
  if (link.hasAttribute("download") || link.getAttribute("href")!.startsWith("#")) return;
  event.preventDefault();
  ask(() => location.assign(link.href));
}

function guardForms(event: SubmitEvent): void {
  const form = event.target as HTMLFormElement;
  const button = event.submitter as HTMLButtonElement | null;
  if (!changed || form.method === "dialog" || button?.formTarget || form.target) return;
  if (form === changed) {
    changed = null;
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  ask(() => form.requestSubmit(button));
}

/** Watches the forms that are marked; one that is shown again with an error has changes. */
export function guardForm(): void {
  changed = document.querySelector<HTMLFormElement>('form[data-guard="changed"]');
  const begins = (event: Event) => {
    const field = event.target instanceof Element ? event.target : null;
    changed = field?.closest<HTMLFormElement>("form[data-guard]") ?? changed;
  };
  document.addEventListener("input", begins);
  document.addEventListener("change", begins);
  document.addEventListener("click", guardLinks);
  document.addEventListener("submit", guardForms, true);
  addEventListener("beforeunload", (event) => {
    if (changed?.isConnected) event.preventDefault();
  });
}
