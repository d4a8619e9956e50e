// An exception in the middle of a transaction: nothing of it is visible on either cluster.
//
//     node abort.mjs gtc.toml eu us orders

import { Coordinator } from 'gtc';

class OutOfStock extends Error {}

async function main(config, first, second, topic) {
  const coordinator = await Coordinator.open(config);
  const txn = coordinator.begin();
  try {
    await txn.send(first, { topic, value: 'an order' });
    await txn.send(second, { topic, value: 'an order' });
    throw new OutOfStock();
  } catch (error) {
    await txn.abort(error.name);
    console.log(`${txn} is on neither cluster: ${coordinator.outcome(txn.id)}`);
  } finally {
    await coordinator.close();
  }
}

await main(...process.argv.slice(2));
