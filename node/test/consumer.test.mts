/** Batches on real clusters. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';

import * as gtc from 'gtc';

import { closing, PATIENCE_MS, World } from './world.mjs';

test('batches travel with what was made of them', async (t) => {
  const world = new World();
  const topic = await world.topic();
  await world.write('eu', topic, ['a', 'b', 'c']);
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  const consumer = await coordinator.consumer('eu', { group: topic, topics: [topic], recordsMax: 2 });
  assert.equal(consumer.participant, 'eu');
  const first = await consumer.next({ timeoutMs: PATIENCE_MS });
  assert.ok(first && first.length >= 1 && !first.isStale);
  assert.equal(String(first.records[0]?.value), 'a');
  assert.deepEqual(first.positions, [{ topic, partition: 0, offset: BigInt(first.length) }]);
  const failing = coordinator.transact(async (txn) => {
    await txn.sendOffsets(first);
    throw new RangeError('the application');
  });
  await assert.rejects(failing, RangeError);

  // What was aborted comes again, and nothing is skipped.
  const copied: string[] = [];
  for await (const batch of consumer) {
    await coordinator.transact(async (txn) => {
      for (const { topic, partition, value } of batch) await txn.send('us', { topic, partition, value });
      await txn.sendOffsets(consumer);
    });
    copied.push(...batch.records.map(({ value }) => String(value)));
    if (batch.positions[0]?.offset === 3n) break;
  }
  assert.equal(await consumer.next({ timeoutMs: 200 }), null);
  assert.deepEqual([...new Set(consumer.notices().map(({ kind }) => kind))], ['assigned']);
  await consumer.close();
  await consumer.close();
  await assert.rejects(consumer.next(), gtc.ClosedError);
  for await (const batch of consumer.batches()) assert.fail(`a closed consumer gave ${batch.length} records`);
  assert.deepEqual(copied, ['a', 'b', 'c']);
  assert.deepEqual(await world.committed('us', topic), copied);
});

test('records are as they were written', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  const big = Buffer.alloc(100_000, 7);
  const written: gtc.OutgoingRecord[] = [
    { topic, key: 'k', value: 'ü', timestampMs: 1234, headers: [['h', 'x'], ['h', null], ['', '']] },
    { topic, key: '', value: null, timestampMs: 5678 },
    { topic, key: null, value: '', timestampMs: 9 },
    { topic, value: big, timestampMs: 10, headers: { last: Buffer.of(0, 255) } },
  ];
  await coordinator.transact((txn) => txn.sendMany('eu', written));
  const consumer = await coordinator.consumer('eu', { group: topic, topics: topic, lingerMs: 300 });
  const read: gtc.ConsumedRecord[] = [];
  for await (const batch of consumer) {
    read.push(...batch);
    await coordinator.transact((txn) => txn.sendOffsets(batch));
    if (read.length === written.length) break;
  }
  const bytes = (text: string) => Buffer.from(text);
  assert.deepEqual(read, [
    { topic, partition: 0, offset: 0n, key: bytes('k'), value: bytes('ü'), headers: [['h', bytes('x')], ['h', null], ['', bytes('')]], timestampMs: 1234 },
    { topic, partition: 0, offset: 1n, key: bytes(''), value: null, headers: [], timestampMs: 5678 },
    { topic, partition: 0, offset: 2n, key: null, value: bytes(''), headers: [], timestampMs: 9 },
    { topic, partition: 0, offset: 3n, key: null, value: big, headers: [['last', Buffer.of(0, 255)]], timestampMs: 10 },
  ]);
  // What was read can be written as it is.
  await coordinator.transact((txn) => txn.sendMany('us', read as gtc.OutgoingRecord[]));
  assert.equal((await world.committed('us', topic)).length, written.length);
});

test('a wait that was given up loses nothing', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  const consumer = await coordinator.consumer('eu', { group: topic, topics: topic });
  const controller = new AbortController();
  const waiting = consumer.next({ signal: controller.signal });
  while (consumer.lag().length === 0) await sleep(10);
  controller.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  await assert.rejects(consumer.next({ signal: controller.signal }), { name: 'AbortError' });
  await world.write('eu', topic, ['a', 'b']);
  const copied: string[] = [];
  for await (const batch of consumer.batches()) {
    await coordinator.transact((txn) => txn.sendOffsets(batch));
    copied.push(...batch.records.map(({ value }) => String(value)));
    if (copied.length === 2) break;
  }
  assert.deepEqual(copied, ['a', 'b']);
  await assert.rejects(coordinator.transact((txn) => txn.sendOffsets(consumer)), gtc.InvalidStateError);
  await assert.rejects(consumer.resumeAt('no-such-topic', 0, 0n), gtc.GtcError);
  await assert.rejects(consumer.resumeAt(topic, 0, 1n << 64n), RangeError);
  await assert.rejects(consumer.resumeAt(topic, 2 ** 32, 0n), RangeError);
});

// The low bits of a number are another partition.
test('numbers that are none are refused, and nothing is written', async () => {
  const world = new World();
  const topic = await world.topic();
  await using coordinator = await gtc.Coordinator.open(world.config());
  await coordinator.transact(async (txn) => {
    for (const partition of [1.5, -1, 2 ** 32, 2 ** 40, NaN]) {
      await assert.rejects(async () => txn.send('eu', { topic, partition }), RangeError);
      await assert.rejects(async () => txn.sendMany('eu', [{ topic, partition }]), RangeError);
    }
    for (const timestampMs of [NaN, 1e300, -1]) {
      await assert.rejects(async () => txn.send('eu', { topic, timestampMs }), RangeError);
    }
    await txn.send('eu', { topic, value: 'one', partition: 0, timestampMs: 1 });
  });
  for (const recordsMax of [NaN, -1, 0, 1e300]) {
    await assert.rejects(async () => coordinator.consumer('eu', { group: topic, topics: topic, recordsMax }), RangeError);
  }
  assert.deepEqual(await world.committed('eu', topic), ['one']);
});

test('closing the coordinator ends a wait', async () => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = await gtc.Coordinator.open(world.config());
  const consumer = await coordinator.consumer('eu', { group: topic, topics: topic });
  const waiting = assert.rejects(consumer.next(), gtc.ClosedError);
  while (!consumer.notices().some(({ kind }) => kind === 'assigned')) await sleep(10);
  await Promise.all([coordinator.close(), coordinator.close()]);
  await waiting;
});
