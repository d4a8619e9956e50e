/** A producer of the application's own, of KafkaJS, votes by its deliveries. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';

import * as gtc from 'gtc';
import type { Producer, Transaction } from 'kafkajs';

import { closing, World } from './world.mjs';

async function producer(test: TestContext, world: World, transactionalId: string): Promise<Producer> {
  const options = { transactionalId, idempotent: true, maxInFlightRequests: 1 };
  const made = world.kafka('eu').producer(options);
  await made.connect();
  test.after(() => made.disconnect());
  return made;
}

/**
 * The producer's own end, repeated, and whether it can go on: KafkaJS fails while the cluster is still busy with the
 * first end, and is of no more use then.
 */
async function isUsable(transaction: Transaction, repeat: 'commit' | 'abort', branch: gtc.OwnBranch): Promise<boolean> {
  try {
    await transaction[repeat]();
  } catch (error) {
    assert.equal((error as { type?: string }).type, 'CONCURRENT_TRANSACTIONS');
    return false;
  }
  return (await branch.finished()) === 'reuse';
}

test('counted deliveries commit, and the producer goes on', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  await coordinator.settle('eu', world.name);
  let own = await producer(t, world, world.name);
  for (const value of ['first', 'second', 'third']) {
    const transaction = await own.transaction();
    const txn = coordinator.begin();
    const branch = await txn.enlist('eu', world.name);
    const [written] = await branch.counting(transaction.send({ topic, messages: [{ value }] }));
    assert.equal(written?.errorCode, 0);
    await txn.send('us', { topic, value });
    await txn.commit();
    if (await isUsable(transaction, 'commit', branch)) continue;
    await coordinator.settle('eu', world.name);
    own = await producer(t, world, world.name);
  }
  assert.deepEqual(coordinator.inDoubt(), []);
  assert.deepEqual(await world.committed('eu', topic), ['first', 'second', 'third']);
  assert.deepEqual(await world.committed('us', topic), ['first', 'second', 'third']);
});

test('a failed delivery, one that is not told, and silence are a no', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config({ own_delivery_timeout_ms: 500 })));
  const votes: ((branch: gtc.OwnBranch) => unknown)[] = [
    (branch) => branch.stateFailed(new Error('the application saw one')),
    (branch) => assert.rejects(branch.counting(Promise.reject(new RangeError('not delivered'))), RangeError),
    (branch) => branch.sent(),
    () => {},
  ];
  for (const [number, vote] of votes.entries()) {
    const id = `${world.name}-${number}`;
    const own = await producer(t, world, id);
    const transaction = await own.transaction();
    const txn = coordinator.begin();
    const branch = await txn.enlist('eu', id, 'v1');
    await transaction.send({ topic, messages: [{ value: 'value' }] });
    await vote(branch);
    await txn.send('us', { topic, value: 'value' });
    await assert.rejects(txn.commit(), gtc.AbortedError, String(number));
    await isUsable(transaction, 'abort', branch);
  }
  assert.deepEqual([await world.committed('eu', topic), await world.committed('us', topic)], [[], []]);
});

test('deliveries of another producer than the one that was enlisted are a no', async (t) => {
  const world = new World();
  const [topic, another] = [await world.topic(), await world.topic('another')];
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  const mistaken = await (await producer(t, world, world.name)).transaction();
  const open = await (await producer(t, world, `${world.name}-another`)).transaction();
  const txn = coordinator.begin();
  const branch = await txn.enlist('eu', `${world.name}-another`);
  await branch.counting(mistaken.send({ topic, messages: [{ value: 'value' }] }));
  await open.send({ topic: another, messages: [{ value: 'value' }] });
  await txn.send('us', { topic, value: 'value' });
  await assert.rejects(txn.commit(), (error) => error instanceof gtc.AbortedError && error.message.includes(`${topic}-0`));
  assert.throws(() => branch.deliveredTo(topic, 0.5), RangeError);
  await mistaken.abort();
});

test('stated deliveries commit', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  await coordinator.settle('eu', world.name);
  const own = await producer(t, world, world.name);
  const transaction = await own.transaction();
  const branch = await coordinator.transact(async (txn) => {
    await assert.rejects(txn.enlist('eu', world.name, 'v3' as 'v2'), gtc.ConfigError);
    const branch = await txn.enlist('eu', world.name);
    await transaction.send({ topic, messages: [{ value: 'value' }] });
    branch.stateDelivered();
    await txn.send('us', { topic, value: 'value' });
    return branch;
  });
  await isUsable(transaction, 'commit', branch);
  assert.ok(['reuse', 'discard'].includes(await branch.finished()));
  assert.deepEqual(await world.committed('eu', topic), ['value']);
  assert.deepEqual(await world.committed('us', topic), ['value']);
});
