export { ProductRecs, type Body, type Query } from "./client.js";
export * from "./schema.js";
export { ProductRecsError, type CallOptions, type ClientOptions, type Problem } from "./transport.js";
