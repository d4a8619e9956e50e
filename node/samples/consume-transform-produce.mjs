// Reads orders on one cluster and writes their sums to another: offsets and records move in one
// transaction, so that each order has exactly one sum, through any crash.
//
//     node consume-transform-produce.mjs gtc.toml eu orders us sums

import { AbortedError, Coordinator } from 'gtc';

async function main(config, source, orders, target, sums) {
  let count = 0;
  const coordinator = await Coordinator.open(config);
  try {
    // What a crash left open holds the group's offsets back: it is ended first.
    await coordinator.recover();
    const consumer = await coordinator.consumer(source, {
      group: 'sums',
      topics: orders,
      instance: 'sums-1',
    });
    while (!consumer.isCaughtUp()) {
      const batch = await consumer.next({ timeoutMs: 500 });
      if (!batch) continue;
      try {
        await coordinator.transact(async (txn) => {
          for (const { key, value } of batch) {
            await txn.send(target, { topic: sums, key, value: total(value) });
          }
          await txn.sendOffsets(consumer);
        });
        count += batch.length;
      } catch (error) {
        if (!(error instanceof AbortedError)) throw error;
        // Nothing of it is visible: the consumer hands the records out again.
        console.error(`again: ${error.message}`);
      }
    }
  } finally {
    await coordinator.close();
  }
  console.log(`${count} orders summed`);
}

function total(order) {
  const numbers = String(order ?? '').split(' ');
  return String(numbers.reduce((sum, number) => sum + Number(number), 0));
}

await main(...process.argv.slice(2));
