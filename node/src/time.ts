/** A time as the native module takes it. */
export function milliseconds(what: string, value: number | undefined): number | undefined {
  if (value !== undefined && !(Number.isFinite(value) && value >= 0)) {
    throw new RangeError(`${what}: a number of milliseconds is wanted, and not ${value}`);
  }
  return value;
}
