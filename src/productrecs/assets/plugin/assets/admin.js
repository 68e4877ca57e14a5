// Panels: what the service says is loaded after the page.
(function () {
  "use strict";
  document.querySelectorAll(".pr-panel").forEach(function (panel) {
    var body = new URLSearchParams({ action: "product_recs_panel", _ajax_nonce: panel.dataset.nonce, product: panel.dataset.product });
    fetch(panel.dataset.url, { method: "POST", credentials: "same-origin", body: body })
      .then(function (reply) { return reply.json(); })
      .then(function (reply) {
        if (!reply.success) throw new Error();
        panel.innerHTML = reply.data;
      })
      .catch(function () { panel.textContent = panel.dataset.failed; });
  });
})();
// Settings screen: shows how far the first sync is, and does its next step.
(function () {
  "use strict";
  var box = document.getElementById("pr-progress");
  if (!box) return;
  function isRunning() { return !!box.querySelector('progress[data-state="running"]'); }
  function next() {
    var body = new URLSearchParams({ action: "product_recs_progress", _ajax_nonce: box.dataset.nonce });
    fetch(box.dataset.url, { method: "POST", credentials: "same-origin", body: body })
      .then(function (reply) { return reply.json(); })
      .then(function (reply) {
        ["products", "orders"].forEach(function (name) {
          var bar = box.querySelector('progress[data-name="' + name + '"]');
          var told = reply.data[name];
          bar.dataset.state = told.state;
          bar.max = told.total || 1;
          bar.value = told.state === "done" ? bar.max : told.done;
          bar.closest("p").querySelector(".pr-count").textContent = told.done + " / " + told.total;
        });
        box.querySelector(".pr-error").textContent = reply.data.error;
      })
      .catch(function () {})
      .then(function () { if (isRunning()) setTimeout(next, 1000); });
  }
  if (isRunning()) next();
})();
// Picks the search box: the shop opens beside this page and sends back a CSS selector.
(function () {
  "use strict";
  var button = document.getElementById("pr-pick");
  if (!button) return;
  button.addEventListener("click", function () {
    window.open(button.dataset.shop, "product-recs-pick", "width=1100,height=800");
  });
  addEventListener("message", function (event) {
    if (event.origin !== new URL(button.dataset.shop, location.href).origin) return;
    if (!event.data || typeof event.data.productRecsSelector !== "string") return;
    document.getElementById("pr-selector").value = event.data.productRecsSelector;
    document.getElementById("pr-selector").focus();
  });
})();
// Forms whose action asks the service: the page stays usable meanwhile, then shows the answer.
(function () {
  "use strict";
  document.addEventListener("submit", function (event) {
    var form = event.target;
    if (!form.dataset.waiting) return;
    event.preventDefault();
    var button = form.querySelector('[type="submit"]');
    button.disabled = true;
    button.value = form.dataset.waiting;
    // The redirect leads to the page that shows the answer, once: the browser shall open it.
    fetch(form.getAttribute("action"), { method: "POST", credentials: "same-origin", body: new FormData(form), redirect: "manual" })
      .then(function (reply) {
        if (reply.type !== "opaqueredirect") throw new Error();
        location.reload();
      })
      .catch(function () { HTMLFormElement.prototype.submit.call(form); });
  });
})();
