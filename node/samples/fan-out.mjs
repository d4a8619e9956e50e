// Copies a topic to several clusters: a record reaches all of them, or none.
//
//     node fan-out.mjs gtc.toml eu orders us apac

import { Coordinator } from 'gtc';

async function fanOut(config, source, topic, ...targets) {
  let count = 0;
  const coordinator = await Coordinator.open(config);
  try {
    await coordinator.recover();
    const consumer = await coordinator.consumer(source, { group: 'fan-out', topics: topic });
    while (!consumer.isCaughtUp()) {
      const batch = await consumer.next({ timeoutMs: 500 });
      if (!batch) continue;
      const copies = batch.records.map(({ key, value, headers }) => ({ topic, key, value, headers }));
      await coordinator.transact(async (txn) => {
        await Promise.all(targets.map((target) => txn.sendMany(target, copies)));
        await txn.sendOffsets(consumer);
      });
      count += batch.length;
    }
  } finally {
    await coordinator.close();
  }
  return count;
}

console.log(await fanOut(...process.argv.slice(2)), 'records are on all clusters');
