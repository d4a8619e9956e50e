// Replays the golden scenarios: the same objects in must give the same objects out.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

import { CoordinatorCore, CoreError } from 'gtc-wasm';

// `cargo xtask languages wasm` names it.
const DIRECTORY = process.env.GTC_VECTORS;

/** What comes out until the core waits, as a line has it. */
function drain(core) {
  const found = { actions: [], events: [] };
  for (;;) {
    const output = core.pollOutput();
    if (output.kind === 'wait') return { ...found, wait: output.wait };
    if (output.kind === 'action') found.actions.push(output.action);
    else found.events.push(output.event);
  }
}

function put(core, line) {
  const { now, step, to, result } = line;
  // The whole line is the request or the response: other members than its own do not matter.
  if (step === 'request') assert.deepEqual(core.handleRequest(line, now), result);
  else if (step === 'response') core.handleResponse(to, line, now);
  else if (step === 'timeout') core.handleTimeout(now);
  else assert.equal(step, 'start');
}

function replay(name) {
  const text = readFileSync(join(DIRECTORY, name), 'utf8');
  const [header, ...lines] = text.trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.equal(header.format, 1);
  let core = null;
  for (const [index, line] of lines.entries()) {
    if (line.step === 'start') {
      core?.free();
      core = new CoordinatorCore(header.config, header.log, line.now);
    }
    put(core, line);
    const { actions, events, wait } = line;
    assert.deepEqual(drain(core), { actions, events, wait }, `${name} line ${index + 2}`);
  }
  core.free();
  return lines.length;
}

test('every golden scenario gives the same objects', () => {
  const names = readdirSync(DIRECTORY).filter((name) => name.endsWith('.jsonl'));
  assert.ok(names.length >= 40, `${names.length} scenarios`);
  const steps = names.map(replay).reduce((sum, count) => sum + count, 0);
  assert.ok(steps > 1000, `${steps} steps`);
});

const PARTICIPANT = {
  name: 'eu',
  slots_max: 1,
  timeout_ms: 60_000,
  margin_us: 1_000_000,
  names_max: 10,
};
const CONFIG = { coordinator: 'c', log_id: '00000000000000ab', participants: [PARTICIPANT] };
const NOW = { monotonic_us: 1, unix_ms: 1 };

test('what the core cannot read is refused, and changes nothing', () => {
  assert.throws(() => new CoordinatorCore({}, [], NOW), /no configuration/);
  assert.throws(() => new CoordinatorCore(CONFIG, ['00'], NOW), /record 0 of the log/);
  const core = new CoordinatorCore(CONFIG, [], NOW);
  assert.throws(() => core.handleRequest({ request: 'rollback' }, NOW), CoreError);
  assert.throws(() => core.handleResponse(1, { response: 'perhaps' }, NOW), /no response/);
  assert.equal(core.pollOutput().action.action, 'append');
  assert.equal(core.handleRequest({ request: 'forget', transaction: '1-1' }, NOW).refusal, 'unknown-transaction');
  core.free();
  core.free();
  assert.throws(() => core.pollOutput(), /freed/);
});

test('cores are apart from each other, and texts may be large', () => {
  const [one, other] = [1, 2].map(() => new CoordinatorCore(CONFIG, [], NOW));
  drain(one);
  const why = 'ü'.repeat(500_000);
  const refusal = one.handleRequest({ request: 'abort', transaction: '1-1', reason: why }, NOW);
  assert.equal(refusal.refusal, 'unknown-transaction');
  assert.equal(drain(other).actions.length, 1);
  one.free();
  assert.equal(other.handleRequest({ request: 'close' }, NOW).accepted, 'pending');
  other.free();
});
