// Node's program of `cargo xtask bench languages`.
//
//     node transactions.mjs CONFIG TOPIC BATCH SECONDS
//
// Each line of standard input is a turn.

import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';

import { Coordinator } from 'gtc';

const VALUE = Buffer.alloc(100, 7);
const PARTICIPANTS = ['eu', 'us'];

async function main(config, topic, batch, seconds) {
  const coordinator = await Coordinator.open(config);
  try {
    await coordinator.recover();
    for await (const _ of createInterface({ input: process.stdin })) {
      const begun = performance.now();
      const transactions = await transact(coordinator, topic, Number(batch), Number(seconds));
      const took = (performance.now() - begun) / 1000;
      const records = transactions * Number(batch) * PARTICIPANTS.length;
      console.log(JSON.stringify({ transactions, records, seconds: took }));
    }
  } finally {
    await coordinator.close();
  }
}

/** One transaction after the other, for so long; tells how many. */
async function transact(coordinator, topic, batch, seconds) {
  let transactions = 0;
  for (const end = performance.now() + seconds * 1000; performance.now() < end; transactions++) {
    await coordinator.transact(async (txn) => {
      for (const participant of PARTICIPANTS) {
        const records = Array.from({ length: batch }, () => ({ topic, value: VALUE }));
        await txn.sendMany(participant, records);
      }
    });
  }
  return transactions;
}

await main(...process.argv.slice(2));
