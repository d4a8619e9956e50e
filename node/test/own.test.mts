/** A producer of the application's own, of KafkaJS, votes by its deliveries. */

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';

import * as gtc from 'gtc';
import type { Producer } from 'kafkajs';

import { closing, World } from './world.mjs';

async function producer(test: TestContext, world: World, transactionalId: string): Promise<Producer> {
  const options = { transactionalId, idempotent: true, maxInFlightRequests: 1 };
  const made = world.kafka('eu').producer(options);
  await made.connect();
  test.after(() => made.disconnect());
  return made;
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
    await transaction.commit();
    if ((await branch.finished()) === 'discard') own = await producer(t, world, world.name);
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
    await transaction.abort();
  }
  assert.deepEqual([await world.committed('eu', topic), await world.committed('us', topic)], [[], []]);
});

test('stated deliveries commit', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  await coordinator.settle('eu', world.name);
  const own = await producer(t, world, world.name);
  const transaction = await own.transaction();
  const finished = await coordinator.transact(async (txn) => {
    await assert.rejects(txn.enlist('eu', world.name, 'v3' as 'v2'), gtc.ConfigError);
    const branch = await txn.enlist('eu', world.name);
    await transaction.send({ topic, messages: [{ value: 'value' }] });
    branch.stateDelivered();
    await txn.send('us', { topic, value: 'value' });
    await txn.commit();
    return branch.finished();
  });
  await transaction.commit();
  assert.ok(finished === 'reuse' || finished === 'discard');
  assert.deepEqual(await world.committed('eu', topic), ['value']);
  assert.deepEqual(await world.committed('us', topic), ['value']);
});
