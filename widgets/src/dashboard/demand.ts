// The chart of a forecast: what was sold, then the median and the p10-p90 band. It replaces
// the server's SVG, which stays where the script does not run.
import uPlot from "uplot";

const HEIGHT = 260;
const charts: { figure: HTMLElement; plot: uPlot }[] = [];

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function options(width: number, unit: string): uPlot.Options {
  const [accent, soft, line] = ["--accent", "--soft", "--line"].map(colour) as [string, string, string];
  const probe = document.createElement("i");
  probe.className = "key two";
  document.body.append(probe);
  const band = getComputedStyle(probe).backgroundColor;
  probe.remove();
  const axis = { stroke: soft, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const shown = (_: uPlot, value: number | null) =>
    value === null ? "–" : `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
  const points = { show: false };
  return {
    width,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
    series: [
      { label: "Day", value: "{D} {MMM} {YYYY}" },
      { label: "Sold", stroke: soft, width: 1.5, points, value: shown },
      { label: "Low (p10)", stroke: band, points, value: shown },
      { label: "High (p90)", stroke: band, points, value: shown },
      { label: "Median", stroke: accent, width: 2, points, value: shown },
    ],
    bands: [{ series: [3, 2], fill: band }],
    axes: [{ ...axis, values: "{D} {MMM}" }, { ...axis, size: 44 }],
    scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.05 : 1] } },
  };
}

function draw(figure: HTMLElement): void {
  const place = figure.querySelector<HTMLElement>("[data-plot]");
  const given = figure.dataset.series;
  if (!place || !given) return;
  const data = JSON.parse(given) as uPlot.AlignedData;
  place.replaceChildren();
  const plot = new uPlot(options(place.clientWidth, figure.dataset.unit ?? ""), data, place);
  plot.root.setAttribute("role", "img");
  plot.root.setAttribute("aria-label", figure.querySelector("figcaption")?.textContent ?? "");
  charts.push({ figure, plot });
}

function drawAll(): void {
  for (const { plot } of charts.splice(0)) plot.destroy();
  document.querySelectorAll<HTMLElement>("[data-series]").forEach(draw);
}

drawAll();
addEventListener("resize", () => {
  for (const { figure, plot } of charts) {
    const width = figure.querySelector("[data-plot]")?.clientWidth;
    if (width) plot.setSize({ width, height: HEIGHT });
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
new MutationObserver(drawAll).observe(document.documentElement, { attributeFilter: ["data-theme"] });
