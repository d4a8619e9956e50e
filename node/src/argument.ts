import type { TransactionId } from './types';

/** What a value is, for people. */
function kindOf(value: unknown): string {
  return value === null ? 'null' : typeof value;
}

/** The error of an argument that is something else than was wanted. */
export function notWanted(what: string, wanted: string, value: unknown): TypeError {
  return new TypeError(`${what}: ${wanted} is wanted, and not ${kindOf(value)}`);
}

/** A text, checked: the native module would tell no more than that it is none. */
export function text(what: string, value: string): string {
  if (typeof value === 'string') return value;
  throw notWanted(what, 'a string', value);
}

/** A text, or nothing. */
export function optionalText(what: string, value: string | null | undefined): string | undefined {
  return value === undefined || value === null ? undefined : text(what, value);
}

/** Texts in their order. */
export function texts(what: string, values: Iterable<string>): string[] {
  if (typeof values !== 'object' || values === null || !(Symbol.iterator in values)) {
    throw notWanted(what, 'a list of strings', values);
  }
  return [...values].map((value) => text(what, value));
}

/** A transaction id, as a number or as people write it. */
export function transactionId(value: TransactionId): TransactionId {
  if (typeof value === 'bigint' || typeof value === 'string') return value;
  throw notWanted('id', 'a bigint or a string', value);
}

/** Refuses what was not made by the package itself. */
export function assertMade(value: unknown, native: abstract new () => object, how: string): void {
  if (!(value instanceof native)) throw new TypeError(`this class is made by ${how}`);
}
