/** The highest number of a partition. */
export const PARTITION_MAX = 2 ** 31 - 1;
/** The highest number of 32 bits. */
export const COUNT_MAX = 2 ** 32 - 1;

/**
 * A whole number within bounds, checked: the native module would take the low bits of any other
 * number for it.
 */
export function whole(
  what: string,
  value: number | null | undefined,
  [least, most]: readonly [number, number],
): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number') throw new TypeError(`${what}: a number or null is wanted, and not ${typeof value}`);
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`${what}: a whole number from ${least} to ${most} is wanted, and not ${value}`);
}
