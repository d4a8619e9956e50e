// The package as its users have it: the licences of what is linked in go with it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

test('the licences of what is linked in are in the package', () => {
  const beside = (name) => readFileSync(new URL(name, import.meta.resolve('gtc-wasm/gtc_core.wasm')), 'utf8');
  assert.match(beside('THIRD-PARTY-NOTICES'), /\n {2}serde_json /);
  assert.match(beside('LICENSE'), /Apache License/);
});
