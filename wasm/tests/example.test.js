// The example's host, killed at every record that a transfer writes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const TRANSFER = fileURLToPath(new URL('example/transfer.js', import.meta.resolve('gtc-wasm/gtc_core.wasm')));

function run(directory, ...words) {
  return spawnSync(process.execPath, [TRANSFER, directory, ...words], { encoding: 'utf8', timeout: 60_000 });
}

function inDirectory(work) {
  const directory = mkdtempSync(join(tmpdir(), 'gtc-wasm-'));
  try {
    work(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test('a transfer is in both stores', () => {
  inDirectory((directory) => {
    for (const total of [100, 200]) {
      const { stdout, stderr } = run(directory, '100');
      assert.match(stdout, /committed\n/, stderr);
      assert.match(stdout, new RegExp(`ours -${total} theirs ${total}\n`), stderr);
    }
  });
});

for (const [record, total] of [['decided', 100], ['names', 0], ['started', 0]]) {
  test(`killed after the record ${record}, the next start ends it`, () => {
    inDirectory((directory) => {
      assert.equal(run(directory, '100', record).signal, 'SIGKILL');
      const { stdout, stderr } = run(directory, '0');
      assert.match(stdout, new RegExp(`ours -?${total} theirs ${total}\n`), stderr);
    });
  });
}
