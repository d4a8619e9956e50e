// The target for browsers, with the bytes that a browser would fetch.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import initialise, * as web from 'gtc-wasm/web';

const PARTICIPANT = {
  name: 'eu',
  slots_max: 1,
  timeout_ms: 60_000,
  margin_us: 1_000_000,
  names_max: 10,
};
const MODULE = new URL(import.meta.resolve('gtc-wasm/gtc_core.wasm'));

test('the class is there once the module is', async () => {
  assert.equal(web.CoordinatorCore, undefined);
  const bytes = readFileSync(MODULE);
  const made = await initialise(bytes);
  assert.equal(web.CoordinatorCore, made);
  const config = { coordinator: 'c', log_id: '00000000000000ab', participants: [PARTICIPANT] };
  const core = new made(config, [], { monotonic_us: 1, unix_ms: 1 });
  assert.equal(core.pollOutput().kind, 'action');
  core.free();
});

test('the module stays small, above all as it is fetched', () => {
  const bytes = readFileSync(MODULE);
  assert.ok(bytes.length < 300_000, `${bytes.length} bytes`);
  const compressed = gzipSync(bytes).length;
  assert.ok(compressed < 130_000, `${compressed} bytes compressed`);
});
