// What the service calls a script with; null in the tests.
declare const STORE: import("./core/facts").StoreFacts | null;
