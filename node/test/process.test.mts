/** What a process as a whole goes through: its event loop, its threads, its end, its memory. */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';

import * as gtc from 'gtc';

import { closing, run, World } from './world.mjs';

const GTC = createRequire(import.meta.url).resolve('gtc');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Runs `work` so many times, a few at once. */
async function times(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: 4 }, lane));
}

test('nothing blocks the event loop', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  const consumer = await coordinator.consumer('eu', { group: topic, topics: topic });
  const book = async () => {
    const start = performance.now();
    await coordinator.transact(async (txn) => {
      await txn.send('eu', { topic, value: 'value' });
      await txn.sendMany('us', Array.from({ length: 10 }, () => ({ topic, value: 'value' })));
    });
    return performance.now() - start;
  };
  await book();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const before = performance.eventLoopUtilization();
  const waiting = consumer.next();
  const took: number[] = [];
  delay.enable();
  // One after the other: a wait that held the loop would hold it for as long as the transaction takes.
  for (let number = 0; number < 200; number++) took.push(await book());
  delay.disable();
  const { utilization } = performance.eventLoopUtilization(before);
  const median = took.sort((a, b) => a - b)[100]!;
  const late = delay.percentile(50) / 1e6;
  t.diagnostic(`a transaction took ${median.toFixed(1)} ms (median), the loop was late by ${late.toFixed(1)} ms (median)`);
  t.diagnostic(`99 of 100: ${(delay.percentile(99) / 1e6).toFixed(1)} ms, at most ${(delay.max / 1e6).toFixed(1)} ms; busy ${(utilization * 100).toFixed(0)} %`);
  assert.ok(late < median / 2, `${late} ms of ${median} ms`);
  assert.ok(utilization < 0.5, `the loop was busy for ${utilization} of the time`);
  assert.ok(await waiting);
});

/** Runs in a worker: opens a coordinator of its own, books, and waits for what never comes. */
const WORKER = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { Coordinator } = require(workerData.gtc);
  (async () => {
    const coordinator = await Coordinator.open(workerData.config);
    const { topic } = workerData;
    await coordinator.transact((txn) => txn.send('eu', { topic, value: 'value' }));
    const consumer = await coordinator.consumer('us', { group: topic, topics: topic });
    const waiting = consumer.next();
    parentPort.postMessage('waiting');
    await waiting;
  })().catch((error) => parentPort.postMessage(String(error)));
`;

test('a worker thread has coordinators of its own, and may end in the middle of a wait', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const workerData = { gtc: GTC, topic };
  for (const round of [1, 2]) {
    const config = new World().config();
    const worker = new Worker(WORKER, { eval: true, workerData: { ...workerData, config } });
    const said = await new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject));
    assert.equal(said, 'waiting', `round ${round}`);
    await worker.terminate();
  }
  // This thread goes on with what all threads share.
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  await coordinator.transact((txn) => txn.send('eu', { topic, value: 'value' }));
  assert.deepEqual(await world.committed('eu', topic), ['value', 'value', 'value']);
});

test('a process may end in the middle of everything, and ends by itself once it is closed', async () => {
  const world = new World();
  const topic = await world.topic();
  const program = (end: string) => `
    const { Coordinator } = require(${JSON.stringify(GTC)});
    (async () => {
      const coordinator = await Coordinator.open(${JSON.stringify(world.configFile())});
      const consumer = await coordinator.consumer('eu', { group: '${end.length}', topics: '${topic}' });
      const txn = coordinator.begin();
      await txn.send('eu', { topic: '${topic}', value: 'no' });
      consumer.next().catch((error) => console.log(error.code));
      ${end};
    })();`;
  const torn = await run(process.execPath, ['-e', program('process.exit(7)')]);
  assert.deepEqual([torn.code, torn.signal, torn.stdout], [7, null, ''], torn.stderr);
  const closed = await run(process.execPath, ['-e', program('await coordinator.close()')]);
  assert.deepEqual([closed.code, closed.signal, closed.stdout], [0, null, 'ERR_CLOSED\n'], closed.stderr);
  assert.deepEqual(await world.committed('eu', topic), []);
});

/** How long memory may take to be given back: what is a leak stays for ever. */
const LATE_MS = 10_000;

/** Megabytes of the heap and of what hangs on it, once it is about `least` again, or late. */
async function collected(least: number): Promise<number> {
  for (const end = performance.now() + LATE_MS; ; await setTimeout(10)) {
    // Twice: what the first finalizes, the second frees; most of the time, as buffers go on a thread of their own.
    for (let times = 0; times < 2; times++) {
      collect();
      await new Promise(setImmediate);
    }
    const { heapUsed, external } = process.memoryUsage();
    const size = (heapUsed + external) / 1e6;
    if (size < least + 0.5 || performance.now() > end) return size;
  }
}

/** Megabytes after each of a few rounds, with nothing left to collect. */
async function memory(rounds: number, round: () => Promise<void>): Promise<{ resident: number[]; heap: number[] }> {
  const [resident, heap]: number[][] = [[], []];
  for (let number = 0; number < rounds; number++) {
    await round();
    heap!.push(await collected(Math.min(...heap!)));
    resident!.push(process.memoryUsage().rss / 1e6);
  }
  return { resident: resident!, heap: heap! };
}

/** What grew since the second round: the first ones warm up caches and the allocator. */
function grown(sizes: number[]): number {
  return sizes.at(-1)! - sizes[1]!;
}

test('thousands of transactions leak nothing', async (t) => {
  const world = new World();
  // Kept outcomes are no leak, and would look like one.
  const coordinator = closing(t, await gtc.Coordinator.open(world.config({ outcomes_max: 100 })));
  const count = Number(process.env.GTC_TEST_TRANSACTIONS ?? 10_000);
  // Aborted before they write: what crosses the border (handles, results, errors, records) is made and dropped all the same.
  const round = () =>
    times(count / 5, async (number) => {
      const txn = coordinator.begin({ key: `key-${number}` });
      const record = { topic: 'topic', value: Buffer.alloc(100), headers: { h: '1' } };
      await assert.rejects(txn.sendMany('nowhere', [record]), gtc.ConfigError);
      await txn.abort();
    });
  const { resident, heap } = await memory(5, round);
  t.diagnostic(`${count} transactions: resident ${resident.map(Math.round)} MB, heap ${heap.map((size) => size.toFixed(1))} MB`);
  assert.ok(grown(heap) < 1, `${heap}`);
  // Less than a hundred bytes of each would be more than this over 100,000; in a short test the allocator has more to say.
  assert.ok(grown(resident) < 6, `${resident}`);
});

test('written transactions and batches leak nothing', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config({ outcomes_max: 100 })));
  const consumer = await coordinator.consumer('eu', { group: topic, topics: topic });
  const count = Number(process.env.GTC_TEST_COMMITS ?? 400);
  let read = 0;
  const round = async () => {
    await times(count / 4, (number) =>
      coordinator.transact(async (txn) => {
        await txn.sendMany('eu', Array.from({ length: 10 }, () => ({ topic, key: `${number}`, value: Buffer.alloc(1000) })));
        await txn.send('us', { topic, value: 'value' });
      }),
    );
    for (const end = read + (count / 4) * 10; read < end; ) {
      const batch = await consumer.next();
      read += batch!.records.filter(({ value }) => value?.length === 1000).length;
      await coordinator.transact((txn) => txn.sendOffsets(batch!));
    }
  };
  const { resident, heap } = await memory(4, round);
  t.diagnostic(`${count} commits: resident ${resident.map(Math.round)} MB, heap ${heap.map((size) => size.toFixed(1))} MB`);
  assert.equal(read, count * 10);
  assert.ok(grown(heap) < 1, `${heap}`);
});
