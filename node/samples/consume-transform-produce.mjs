// Reads orders on one cluster and writes their sums to another: offsets and records move in one
// transaction, so that each order has exactly one sum, through any crash.
//
//     node consume-transform-produce.mjs gtc.toml eu numbers us sums
//
// An order is numbers with spaces between them, such as `3 4`.

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
          for (const order of batch) {
            await txn.send(target, { topic: sums, key: order.key, value: total(order) });
          }
          await txn.sendOffsets(consumer);
        });
        count += batch.length;
      } catch (error) {
        if (!(error instanceof AbortedError) || error.retry !== 'later') throw error;
        // Nothing of it is visible: the consumer hands the records out again.
        console.error(`again: ${error.message}`);
      }
    }
  } finally {
    await coordinator.close();
  }
  console.log(`${count} orders summed`);
}

function total({ topic, partition, offset, value }) {
  const numbers = String(value ?? '').split(' ').map(Number);
  const sum = numbers.reduce((sum, number) => sum + number, 0);
  if (Number.isInteger(sum)) return String(sum);
  throw new Error(`${topic} partition ${partition} offset ${offset}: numbers such as \`3 4\` are expected, and not ${value}`);
}

await main(...process.argv.slice(2));
