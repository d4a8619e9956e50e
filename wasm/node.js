// For Node: the module is there when this one is.
import { readFileSync } from 'node:fs';

import { bind, CoreError } from './core.js';

const bytes = readFileSync(new URL('./gtc_core.wasm', import.meta.url));
const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {});

export const CoordinatorCore = bind(exports);
export { CoreError };

/** As in browsers, where the module has to be fetched first. */
export default async function initialise() {
  return CoordinatorCore;
}
