// Starts Swagger UI on what /openapi.json says. Nothing comes from another host.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "list",
  filter: true,
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
});
document.documentElement.classList.toggle(
  "dark-mode", matchMedia("(prefers-color-scheme: dark)").matches);
