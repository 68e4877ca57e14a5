// Releases what the stylesheet reserved where the widgets' script is blocked or does not come:
// what stands below slides up, so that nothing jumps.
(() => {
  const released = () => {
    const widgets = document.querySelectorAll(":is(product-recs, product-look):not(:defined, [data-settled])");
    const tops = new Map();
    for (const widget of widgets) {
      for (let one = widget.parentElement; one; one = one.parentElement) {
        for (const child of one.children) tops.set(child, child.getBoundingClientRect().top);
      }
    }
    for (const widget of widgets) widget.dataset.settled = "";
    for (const [one, top] of tops) tops.set(one, top - one.getBoundingClientRect().top);
    for (const [one, moved] of tops) {
      const by = moved - (tops.get(one.parentElement) ?? 0);
      if (by) one.animate({ transform: [`translateY(${by}px)`, "none"] }, { duration: 300, composite: "add" });
    }
  };
  addEventListener("error", ({ target }) => {
    if (target.src?.includes("/widget/v1/")) released();
  }, true);
  setTimeout(released, 2200);
})();
