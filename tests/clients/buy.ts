// Buys and reserves with the types that openapi-typescript has generated. The arguments are the address of a shop, and a token
// with which another shop reserves there.

import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const [baseUrl, secret] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl });

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

const program = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${secret}` } });

/** Holds a unit for a customer of the other shop. */
async function reserve(customer: string) {
    const { shopper } = need(await program.POST("/api/v1/shoppers", { body: { id: customer } }));
    const body = { shopper: shopper.id, quantity: 1 };
    const { reservation: held } = need(await program.POST("/api/v1/sales/{sale}/reservations", { params: { path }, body }));
    if (held.shopper !== customer || held.status !== "held") throw new Error(JSON.stringify(held));
    return { params: { path: { ...path, id: held.id } } };
}

const [kept, givenUp] = [await reserve("typescript-1"), await reserve("typescript-2")];
const confirmed = { ...kept, body: { reference: "typescript order" } };
need(await program.POST("/api/v1/sales/{sale}/reservations/{id}/confirm", confirmed));
need(await program.POST("/api/v1/sales/{sale}/reservations/{id}/release", givenUp));
const show = async (of: typeof kept) => need(await program.GET("/api/v1/sales/{sale}/reservations/{id}", of)).reservation;
const ends = [await show(kept), await show(givenUp)].map((end) => `${end.status} ${end.reference}`);
if (ends.join() !== "confirmed typescript order,released null") throw new Error(ends.join());
console.log(`its reservations of sale ${sale.id}: ${ends.join(", ")}`);
