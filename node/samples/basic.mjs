// Writes one record to each of two clusters: both become visible, or neither.
//
//     node basic.mjs gtc.toml eu us orders

import { Coordinator } from 'gtc';

async function main(config, first, second, topic) {
  const coordinator = await Coordinator.open(config);
  try {
    const id = await coordinator.transact(async (txn) => {
      for (const participant of [first, second]) {
        await txn.send(participant, { topic, key: 'order-1', value: 'an order' });
      }
      return String(txn);
    });
    console.log(`${id} is on both clusters`);
  } finally {
    await coordinator.close();
  }
}

await main(...process.argv.slice(2));
