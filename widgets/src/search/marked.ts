// How is a marked title shown? The service sends HTML of one kind of tag; we make nodes of it.

const ENTITY = /&(amp|lt|gt|quot|#39|#x27|#34);/g;
const SIGNS: Readonly<Record<string, string>> = {
  amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'", "#34": '"',
};

/** Returns the parts of `html`, those in `<mark>` as such; any other tag is text. */
export function marked(html: string): (string | HTMLElement)[] {
  return html.split(/(<mark>.*?<\/mark>)/).map((part) => {
    const inner = /^<mark>(.*)<\/mark>$/.exec(part)?.[1];
    const text = (inner ?? part).replace(ENTITY, (_, name: string) => SIGNS[name] ?? "");
    if (inner === undefined) return text;
    const mark = document.createElement("mark");
    mark.textContent = text;
    return mark;
  });
}
