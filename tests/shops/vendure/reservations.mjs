// A plugin for Vendure that sells goods through a Seckill sale: units are reserved there when the checkout begins, and the
// reservation is confirmed before a payment is settled. Vendure's own stock is not asked. In shadow mode Vendure sells as always,
// and tells the sale afterwards what it has sold.
import { LanguageCode, PaymentMethodHandler, PluginCommonModule, VendurePlugin } from '@vendure/core';

// A request that was not answered may have been carried out, and all of them may be repeated. Few attempts: Vendure's
// transaction waits for them. The customer may try again too.
const TIMEOUT_MS = 2_000;
const ATTEMPTS = 2;
const PAUSE_MS = 200;

class Reservations {
  #api;
  #path;
  #decisions;
  #token;

  constructor({ line, sale, token }) {
    this.#api = `${line}/api/v1`;
    this.#path = `/sales/${sale}/reservations`;
    this.#decisions = `/sales/${sale}/decisions`;
    this.#token = token;
  }

  /** The same customer gets the same reservation again while it is held, so it does not matter whether this was asked before. */
  async reserve(customer, quantity) {
    const shopper = `vendure-${customer.id}`;
    const first = await this.#call(this.#path, { shopper, quantity });
    if (first.code !== 'no_such_shopper') return first;
    // How old an account is may count in a sale.
    const named = await this.#call('/shoppers', { id: shopper, since: customer.createdAt });
    return named.status < 400 ? this.#call(this.#path, { shopper, quantity }) : named;
  }

  confirm(id, reference) {
    return this.#call(`${this.#path}/${id}/confirm`, { reference });
  }

  release(id) {
    return this.#call(`${this.#path}/${id}/release`, {});
  }

  /** Tells that an order was sold. Nobody waits for it; what was not told can be told later from the list of orders. */
  tellSold(order, quantity) {
    const sold = { id: order.code, shopper: `vendure-${order.customer.id}`, quantity, decided: 'sold', reference: order.code };
    return this.#call(this.#decisions, { decisions: [{ ...sold, at: new Date().toISOString() }] });
  }

  // `{status, reservation}` or `{status, code}`; status 0 if there was no answer.
  async #call(path, body) {
    for (let attempt = 1; ; attempt += 1) {
      const { status, ...rest } = await this.#send(path, body);
      const isUnknown = status === 0 || status === 429 || status >= 500;
      if (!isUnknown || attempt === ATTEMPTS) return { status, ...rest };
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #send(path, body) {
    try {
      const answer = await fetch(this.#api + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const { reservation, code } = await answer.json();
      return { status: answer.status, reservation, code };
    } catch {
      return { status: 0 };
    }
  }
}

/** The plugin. `sku` is of the variant that the sale sells. */
export function sellThroughSeckill({ line, sale, token, sku, shadow = false }) {
  const reservations = new Reservations({ line, sale, token });
  const units = (order) => order.lines.filter((item) => item.productVariant.sku === sku)
    .reduce((sum, item) => sum + item.quantity, 0);

  const checkout = {
    async onTransitionStart(from, to, { order }) {
      if (shadow) return undefined;
      const quantity = units(order);
      if (to === 'ArrangingPayment' && quantity > 0) {
        const { reservation, code } = await reservations.reserve(order.customer, quantity);
        if (!reservation) return code ?? 'line_away';
        if (reservation.quantity !== quantity) return 'other_quantity';
        order.customFields.seckillReservation = reservation.id;
      }
      if (from === 'ArrangingPayment' && ['AddingItems', 'Cancelled'].includes(to)) {
        const id = order.customFields.seckillReservation;
        // If nobody answers, the reservation expires by itself.
        if (id) await reservations.release(id);
        order.customFields.seckillReservation = null;
      }
      return undefined;
    },
  };

  const payment = new PaymentMethodHandler({
    code: 'reserved',
    description: [{ languageCode: LanguageCode.en, value: 'Takes money for units that are confirmed' }],
    args: {},
    async createPayment(ctx, order, amount) {
      if (shadow) {
        reservations.tellSold(order, units(order));
        return { amount, state: 'Settled', transactionId: order.code };
      }
      const id = order.customFields.seckillReservation;
      // A real provider authorizes here, and captures or gives back after the answer.
      const { status, reservation, code } = id
        ? await reservations.confirm(id, order.code)
        : { code: 'not_reserved', status: 409 };
      if (reservation?.status === 'confirmed') return { amount, state: 'Settled', transactionId: id };
      if (status === 0 || status === 429 || status >= 500) return { amount, state: 'Error', errorMessage: 'line_away' };
      return { amount, state: 'Declined', errorMessage: code };
    },
    settlePayment: () => ({ success: true }),
  });

  class SellThroughSeckill {}
  VendurePlugin({
    imports: [PluginCommonModule],
    compatibility: '^3.0.0',
    configuration(config) {
      config.orderOptions.process.push(checkout);
      config.paymentOptions.paymentMethodHandlers.push(payment);
      config.customFields.Order.push({ name: 'seckillReservation', type: 'string', nullable: true, internal: true });
      return config;
    },
  })(SellThroughSeckill);
  return SellThroughSeckill;
}
