// Wide tables become cards on phones: each cell learns the name of its column, and roles keep
// the table a table for screen readers. Without the script a table scrolls to the side.
const MOST_COLUMNS = 3; // that fit a phone

function asCards(table: HTMLTableElement): void {
  const names = [...table.querySelectorAll("thead th")].map((one) => one.textContent?.trim() ?? "");
  if (names.length <= MOST_COLUMNS || table.querySelector("tbody [colspan], tbody [rowspan]")) return;
  table.classList.add("cards");
  const roles = { "": "table", "thead, tbody": "rowgroup", tr: "row", "thead th": "columnheader",
    "tbody th": "rowheader", td: "cell" };
  for (const [selector, role] of Object.entries(roles)) {
    const found = selector ? [...table.querySelectorAll(selector)] : [table];
    found.forEach((one) => one.setAttribute("role", role));
  }
  table.querySelectorAll("tbody tr").forEach((row) => {
    [...row.children].forEach((cell, at) => {
      if (cell.tagName === "TD") cell.setAttribute("data-label", names[at] ?? "");
    });
  });
}

/** Prepares the tables within an element to be shown as cards. */
export function prepareCards(within: ParentNode): void {
  within.querySelectorAll<HTMLTableElement>(".scroll table").forEach(asCards);
}
