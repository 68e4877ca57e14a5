// Pushes an item by the types that openapi-typescript makes: node push_an_item.js ADDRESS KEY
import createClient from "openapi-fetch";
import type { paths } from "./openapi";

declare const process: { argv: string[] };

const [, , baseUrl, key] = process.argv;
const client = createClient<paths>({ baseUrl: baseUrl!, headers: { "X-API-Key": key! } });
const { data } = await client.POST("/v1/items", {
  body: { items: [{ id: "lamp", title: "Lamp", price: 19.9 }] },
});
const items = await client.GET("/v1/items/{item_id}", { params: { path: { item_id: "lamp" } } });
console.log(JSON.stringify([data, items.data]));
