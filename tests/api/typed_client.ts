// Uses the TypeScript client: node typed_client.js ADDRESS PUBLISHABLE SECRET LATE-ADDRESS NO-ADDRESS
import { type Product, ProductRecs, ProductRecsError, type SearchReply } from "productrecs-client";

declare const process: { argv: string[] };

const [, , url = "", publishableKey = "", secretKey = "", busy = "", nobody = ""] = process.argv;
const page = new ProductRecs({ url, publishableKey });
const server = new ProductRecs({ url, secretKey });
const hurried = new ProductRecs({ url: busy, publishableKey, maxWaitSeconds: 5 });

async function failure(call: Promise<unknown>): Promise<[number, string, string | null, string, number]> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof ProductRecsError)) throw error;
    return [error.status, error.code, error.docUrl, error.message, error.problems.length];
  }
  throw new Error("the call did not fail");
}

const pushed = await server.pushItems({ items: [{ id: "a/lamp", title: "Lamp", price: 19.9 }] });
const item = await server.getItem("a/lamp");
const order = await server.syncOrder({
  order_id: "A-1",
  user_id: "c-1",
  items: [{ item_id: "a/lamp", quantity: 2, price: 19.9 }],
});
const tracked = await page.track([{ event: "detail-page-view", item_id: "a/lamp", session_id: "s_1" }]);
const listed: Product[] = (await page.recommend({ num: 1 })).recommendations;
const found: SearchReply = await page.search({ q: "lamp", facets: "price", filter: ["in_stock:true", "price:1..50"] });
const upload = await server.uploadOrders(new Blob(["order_id,item_id\nB-1,a/lamp\n"], { type: "text/csv" }));
const unknown = await failure(server.getItem("nothing"));
const invalid = await failure(page.recommend({ num: 99 }));
const unauthorised = await failure(page.listItems());
const late = await failure(hurried.trending());
const unreachable = await failure(new ProductRecs({ url: nobody }).trending());
console.log(JSON.stringify({
  pushed: pushed.created + pushed.updated, item: item.title, order: order.ok, tracked: tracked.ok,
  listed: listed.length, found: found.results.map((one) => one.id), facet: found.facets?.price?.max,
  upload: upload.status, unknown, invalid, unauthorised, late, unreachable,
}));
