// Starts Swagger UI on what /openapi.json says. Nothing comes from another host.
document.documentElement.classList.toggle(
  "dark-mode", matchMedia("(prefers-color-scheme: dark)").matches);
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger",
  deepLinking: false, // its links stand inside buttons, where a keyboard does not reach them
  displayRequestDuration: true,
  docExpansion: "list",
  filter: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
});

// Gives what Swagger UI draws the names and the levels that screen readers need.
(() => {
  const root = document.getElementById("swagger");
  const LEVELS = { H3: "2", H4: "3", H5: "4", H6: "5" };
  const name = (selector, words) => {
    for (const one of root.querySelectorAll(selector)) {
      if (!one.hasAttribute("aria-label")) one.setAttribute("aria-label", words(one));
    }
  };
  const parameter = one => one.closest("[data-param-name]")?.dataset.paramName ?? "Value";
  const mend = () => {
    for (const one of root.querySelectorAll("h3, h4, h5, h6")) {
      one.setAttribute("aria-level", LEVELS[one.tagName]);
    }
    name("#servers", () => "Server");
    name("select.examples-select-element", () => "Example");
    name("select", parameter);
    name("textarea", one => one.closest("[data-param-name]") ? parameter(one) : "Request body");
    name(".operation-filter-input", () => "Filter by tag");
    name(".close-modal", () => "Close");
    name(".copy-to-clipboard button", () => "Copy");
    for (const one of root.querySelectorAll(".modal-ux:not([role])")) {
      one.setAttribute("role", "dialog");
      one.setAttribute("aria-modal", "true");
      one.setAttribute("aria-label", "Authorize");
    }
    root.querySelectorAll("table[role=region]").forEach(one => one.removeAttribute("role"));
    root.querySelectorAll(".modal-btn[aria-label]").forEach(
      one => one.removeAttribute("aria-label"));
    root.querySelectorAll("pre:not([tabindex])").forEach(one => { one.tabIndex = 0; });
  };
  let isWaiting = false;
  new MutationObserver(() => {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      mend();
    });
  }).observe(root, { childList: true, subtree: true });
})();
