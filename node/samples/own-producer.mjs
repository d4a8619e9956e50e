// A producer of the application's own, of KafkaJS, takes part beside a managed one.
//
//     node own-producer.mjs gtc.toml eu us orders BOOTSTRAP_OF_EU

import { AbortedError, Coordinator } from 'gtc';
import kafkajs from 'kafkajs';

const TRANSACTIONAL_ID = 'orders-writer';

async function main(config, own, managed, topic, bootstrap) {
  const coordinator = await Coordinator.open(config);
  // A restart may find a promised branch: initialising the producer now would abort it.
  await coordinator.settle(own, TRANSACTIONAL_ID);
  const kafka = new kafkajs.Kafka({ brokers: [bootstrap] });
  const producer = kafka.producer({
    transactionalId: TRANSACTIONAL_ID,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  try {
    await book(coordinator, producer, { own, managed, topic });
  } finally {
    await producer.disconnect();
    await coordinator.close();
  }
}

async function book(coordinator, producer, { own, managed, topic }) {
  // KafkaJS initialises the producer here, and begins at the cluster with the first send.
  const transaction = await producer.transaction();
  const txn = coordinator.begin();
  const branch = await txn.enlist(own, TRANSACTIONAL_ID, 'v1');
  await branch.counting(transaction.send({ topic, messages: [{ value: 'an order' }] }));
  await txn.send(managed, { topic, value: 'an order' });
  let repeat;
  try {
    await txn.commit();
    console.log(`${txn} is on both clusters`);
    // Only now, and a harmless repeat: the producer goes on with its next transaction.
    repeat = transaction.commit();
  } catch (error) {
    if (!(error instanceof AbortedError)) throw error;
    console.error(error.message);
    repeat = transaction.abort();
  }
  // KafkaJS fails where the cluster is still busy with what it repeats, and cannot go on then.
  const isRepeated = await repeat.then(() => true, () => false);
  if (!isRepeated || (await branch.finished()) === 'discard') {
    console.log('this producer has to be closed and made anew');
  }
}

await main(...process.argv.slice(2));
