// The values of a chart: pointing at a day, or the arrow keys, shows that day's row of the
// chart's table above it. The server draws the chart, which is complete without the script.
const STEPS: Record<string, number> = {
  ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -7, PageUp: 7, Home: -1e6, End: 1e6,
};

function text(cell: Element | undefined): string {
  return cell?.textContent ?? "";
}

function prepareChart(figure: HTMLElement): void {
  const plot = figure.querySelector<HTMLElement>("[data-plot]");
  const readout = figure.querySelector<HTMLElement>("[data-readout]");
  const cursor = figure.querySelector("[data-cursor]");
  const width = figure.querySelector("svg")?.viewBox.baseVal.width ?? 0;
  const names = [...figure.querySelectorAll("thead th")].map(text);
  const rows = [...figure.querySelectorAll("tbody tr")];
  if (!plot || !readout || !cursor || !rows.length) return;
  let place = rows.length - 1;

  const show = (wanted: number): void => {
    place = Math.min(Math.max(wanted, 0), rows.length - 1);
    const [day, ...values] = [...(rows[place]?.children ?? [])].map(text);
    const known = values.map((value, at) => (value === "–" ? "" : `${names[at + 1]} ${value}`));
    const line = `${day}: ${known.filter(Boolean).join(" · ")}`;
    const x = ((place + 0.5) * width) / rows.length;
    readout.textContent = line;
    cursor.setAttribute("d", `M${x} 0V100`);
    plot.setAttribute("aria-valuenow", `${place + 1}`);
    plot.setAttribute("aria-valuetext", line);
  };
  const hide = (): void => {
    if (plot === document.activeElement) return;
    readout.textContent = "";
    cursor.setAttribute("d", "");
  };

  plot.tabIndex = 0;
  plot.setAttribute("role", "slider");
  plot.setAttribute("aria-valuemin", "1");
  plot.setAttribute("aria-valuemax", `${rows.length}`);
  show(place);
  hide();
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    show(Math.floor(((event.clientX - box.left) / box.width) * rows.length));
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("focus", () => show(place));
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    show(place + step);
  });
}

/** Makes every chart of the page show its values. */
export function prepareCharts(): void {
  document.querySelectorAll<HTMLElement>("[data-chart]").forEach(prepareChart);
}
