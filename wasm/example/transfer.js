// Moves an amount between two stores, files of one's own: it is in both, or in neither, however often this
// is killed on the way.
//
//     node transfer.js DIRECTORY AMOUNT [KILL_AFTER_RECORD]
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Host } from './host.js';
import { replace, Store } from './store.js';

const [directory, amount, killAfter] = process.argv.slice(2);

/** The identity of the log, which belongs to its directory. */
function logId() {
  const path = join(directory, 'log-id');
  if (!existsSync(path)) replace(path, randomBytes(8).toString('hex'));
  return readFileSync(path, 'utf8');
}

function dieAfter(record) {
  if (record === killAfter) process.kill(process.pid, 'SIGKILL');
}

mkdirSync(directory, { recursive: true });
const stores = {
  ours: new Store(join(directory, 'ours.json')),
  theirs: new Store(join(directory, 'theirs.json')),
};
const host = new Host(join(directory, 'log'), logId(), stores, dieAfter);
// What an earlier run left open is ended first.
await host.event(({ event }) => event === 'recovered');

if (Number(amount) !== 0) {
  const { transaction } = host.request({ request: 'begin' });
  for (const [participant, store] of Object.values(stores).entries()) {
    host.request({ request: 'enlist', transaction, participant });
    const enlisted = await host.event(
      (one) => one.event === 'enlisted' && one.transaction === transaction && one.participant === participant,
    );
    store.write(enlisted.transactional_id, participant === 0 ? -amount : +amount);
  }
  host.request({ request: 'commit', transaction });
  const ended = await host.event((one) => one.event === 'ended' && one.transaction === transaction);
  console.log(`${transaction} ${ended.outcome}`);
}
const sum = ({ rows }) => rows.reduce((total, row) => total + row, 0);
console.log(`ours ${sum(stores.ours)} theirs ${sum(stores.theirs)}`);
process.exit(0);
