export { ProductRecs } from "./client.js";
export * from "./schema.js";
export { ProductRecsError } from "./transport.js";
