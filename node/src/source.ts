import { fileURLToPath } from 'node:url';

import { text } from './argument';
import type { Config } from './config';

/** The path of a TOML file, its text, or the configuration itself as nested objects. */
export type ConfigSource = string | URL | { readonly toml: string } | Config;

/** A configuration as the native module takes it: kind, text, values. */
export function source(config: ConfigSource): [string, string, [string, string][]] {
  if (typeof config === 'string') return ['file', config, []];
  if (config instanceof URL) return ['file', fileURLToPath(config), []];
  if (typeof config !== 'object' || config === null) {
    throw new TypeError('the path of a file, { toml } or a configuration is wanted');
  }
  if ('toml' in config) return ['toml', text('toml', config.toml), []];
  return ['values', '', [...flattened('', config)]];
}

function* flattened(prefix: string, values: object): Iterable<[string, string]> {
  for (const [name, value] of Object.entries(values)) {
    const key = prefix + name;
    switch (typeof value) {
      case 'undefined':
        break;
      case 'string':
      case 'number':
      case 'bigint':
      case 'boolean':
        yield [key, String(value)];
        break;
      case 'object':
        if (value !== null && !Array.isArray(value)) {
          yield* flattened(`${key}.`, value);
          break;
        }
      // A list or null is no value of a key.
      default:
        throw new TypeError(`${key}: a string, a number, a boolean or an object is wanted`);
    }
  }
}
