import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

export interface Claims {
  iss: string;
  aud: string;
  /** The customer's id in the shop, or `account:` and the id of an account of the line. */
  sub: string;
  place?: string;
  iat: number;
  exp: number;
  jti: string;
  use: 'once' | 'many';
  [claim: string]: unknown;
}

export type Refusal =
  | 'malformed' | 'bad_algorithm' | 'bad_header' | 'unknown_key' | 'bad_signature' | 'bad_claims'
  | 'other_issuer' | 'other_sale' | 'not_yet_valid' | 'expired';

export type Verdict = { claims: Claims; refused?: undefined } | { claims?: undefined; refused: Refusal };

/** Remembers passes that were used. `add` says whether `jti` is new; it may be forgotten after `until` (seconds since 1970). */
export interface Store {
  add(jti: string, until: number): boolean | Promise<boolean>;
}

export interface Options {
  sale: string | number;
  /** Address of the Seckill shop. */
  line: string;
  /** At least 32 characters, the same in every process of the shop. */
  secret: string;
  protect?: string[];
  fail?: 'open' | 'closed';
  keys?: string;
  issuer?: string;
  /** Address of this shop as browsers see it. */
  origin?: string;
  secure?: boolean;
  store?: Store;
  /** An entry token of `POST /api/v1/shoppers` for the customer who is signed in, or nothing. */
  entry?: (req: IncomingMessage) => string | undefined | null | Promise<string | undefined | null>;
  /** Seconds between two fetches of the keys. */
  refresh?: number;
  log?: (message: string) => void;
}

export function readKeys(set: { keys: object[] }): Map<string, KeyObject>;
export function verifyPass(
  pass: string,
  options: { keys: Map<string, KeyObject>; sale: string | number; issuer: string; now?: number },
): Verdict;
export class MemoryStore implements Store {
  constructor(max?: number);
  add(jti: string, until: number): boolean;
}
export function seckill(
  options: Options,
): (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

declare module 'node:http' {
  interface IncomingMessage {
    /** The pass of a request that was let through by one; `null` elsewhere, and if the line is away and `fail` is `open`. */
    seckillPass?: Claims | null;
  }
}
