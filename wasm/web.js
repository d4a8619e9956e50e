// For browsers and bundlers: `initialise` fetches the module, and then the class is there.
import { bind, CoreError } from './core.js';

export { CoreError };

/** Set by `initialise`. */
export let CoordinatorCore;

/** Fetches and compiles the module: from where the package is, or from the URL or bytes given. */
export default async function initialise(source = new URL('./gtc_core.wasm', import.meta.url)) {
  CoordinatorCore ??= bind((await load(source)).exports);
  return CoordinatorCore;
}

async function load(source) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source))
    return (await WebAssembly.instantiate(source, {})).instance;
  const response = await fetch(source);
  if (!response.ok) throw new CoreError(`${source}: ${response.status}`);
  return (await WebAssembly.instantiate(await response.arrayBuffer(), {})).instance;
}
