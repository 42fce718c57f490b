// Buys a unit with the types that openapi-typescript has generated. The argument is the address of a shop.

import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const client = createClient<paths>({ baseUrl: process.argv[2] });

/** The body of an answer that has to be there. */
function need<T>(answer: { data?: T; error?: unknown }): T {
    if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
    return answer.data;
}

const body = { username: "typescript", password: "a client, all day long" };
const registered = await client.POST("/api/register", { body });
const user = need(registered).user;
const cookie = registered.response.headers.getSetCookie().map((line) => line.split(";")[0]).join("; ");
const headers = { cookie };
const sale = need(await client.GET("/api/sales")).sales.find((sale) => sale.phase === "open");
if (!sale) throw new Error("no sale is open");
const path = { sale: sale.id };
const { token } = need(await client.POST("/api/sales/{sale}/token", { params: { path }, headers }));
const bought = need(await client.POST("/api/sales/{sale}/orders", { params: { path }, body: { quantity: 1, token }, headers }));
const order = { params: { path: { sale: sale.id, order: bought.order.id } }, headers };
const { order: found } = need(await client.GET("/api/sales/{sale}/orders/{order}", order));
if (found.quantity !== 1) throw new Error(JSON.stringify(found));
console.log(`${user.username} bought ${found.quantity} of sale ${sale.id}: ${found.status}`);
