// Books a transfer exactly once, however often it is killed on the way: start it again until it
// ends by itself.
//
//     node crash-and-recover.mjs gtc.toml eu us transfers
//
// The transaction carries a key, so that after a crash the program asks what became of it instead
// of booking twice.

import { AbortedError, Coordinator, formatId } from 'gtc';

const KEY = 'transfer-1';

async function main(config, first, second, topic, killAfterMs) {
  const coordinator = await Coordinator.open(config);
  try {
    // What an earlier run left open is finished first, so that the answer is final.
    await coordinator.recover();
    const found = coordinator.outcomeByKey(KEY);
    if (found?.outcome === 'committed') {
      console.log(`${KEY} was booked before, as ${formatId(found.id)}`);
      return;
    }
    // What a power cut does.
    if (killAfterMs) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Number(killAfterMs));
    console.log(`${KEY} is booked, as ${await book(coordinator, first, second, topic)}`);
  } finally {
    await coordinator.close();
  }
}

async function book(coordinator, first, second, topic) {
  for (;;) {
    try {
      return await coordinator.transact(
        async (txn) => {
          await txn.send(first, { topic, key: KEY, value: '-100' });
          await txn.send(second, { topic, key: KEY, value: '+100' });
          return String(txn);
        },
        { key: KEY },
      );
    } catch (error) {
      // Nothing is visible: it can run again, where that may help. In doubt it must not.
      if (!(error instanceof AbortedError) || error.retry !== 'later') throw error;
      console.error(`again: ${error.message}`);
    }
  }
}

await main(...process.argv.slice(2));
