/** The samples do what they say, also when they are killed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { run, World, type Ran } from './world.mjs';

/** A build without the feature crash-points goes on where it should die. */
function assertKilled(ran: Ran): void {
  const hint = 'this needs a build with the feature crash-points, as `cargo xtask languages node` makes it';
  assert.equal(ran.signal, 'SIGKILL', `${hint}: ${JSON.stringify(ran)}`);
}

test('basic, abort, own-producer and resolve-in-doubt', async () => {
  const world = new World();
  const topic = await world.topic();
  const file = world.configFile();
  const basic = await world.sample('basic.mjs', [file, 'eu', 'us', topic]);
  assert.match(basic.stdout, /^\d+-\d+ is on both clusters\n$/, basic.stderr);
  const abort = await world.sample('abort.mjs', [file, 'eu', 'us', topic]);
  assert.match(abort.stdout, /^\d+-\d+ is on neither cluster: aborted\n$/, abort.stderr);
  const own = await world.sample('own-producer.mjs', [file, 'eu', 'us', topic, world.clusters.eu!]);
  assert.match(own.stdout, /^\d+-\d+ is on both clusters\n/, own.stderr);
  const resolve = await world.sample('resolve-in-doubt.mjs', [file]);
  assert.equal(resolve.stdout, 'nothing is open\n', resolve.stderr);
  const unknown = await world.sample('resolve-in-doubt.mjs', [file, '1-1000', 'commit']);
  assert.match(unknown.stderr, /InvalidStateError/);
  assert.notEqual(unknown.code, 0);
  assert.deepEqual(await world.committed('eu', topic), ['an order', 'an order']);
  assert.deepEqual(await world.committed('us', topic), ['an order', 'an order']);
});

test('consume-transform-produce and fan-out', async () => {
  const world = new World();
  const [orders, sums] = [await world.topic('-orders'), await world.topic('-sums')];
  await world.write('eu', orders, ['1 2', '3', '4 5 6']);
  const file = world.configFile();
  const transform = ['consume-transform-produce.mjs', [file, 'eu', orders, 'us', sums]] as const;
  const first = await world.sample(transform[0], [...transform[1]]);
  assert.equal(first.stdout, '3 orders summed\n', first.stderr);
  assert.deepEqual(await world.committed('us', sums), ['3', '3', '15']);
  const again = await world.sample(transform[0], [...transform[1]]);
  assert.equal(again.stdout, '0 orders summed\n', again.stderr);
  await world.write('eu', orders, ['an order']);
  const other = await world.sample(transform[0], [...transform[1]]);
  assert.match(other.stderr, /numbers such as `3 4` are expected, and not an order/);
  assert.notEqual(other.code, 0);
  const empty = await world.sample('fan-out.mjs', [file, 'eu', sums, 'us']);
  assert.equal(empty.stdout, '0 records are on all clusters\n', empty.stderr);
  const full = await world.sample('fan-out.mjs', [file, 'eu', orders, 'us']);
  assert.equal(full.stdout, '4 records are on all clusters\n', full.stderr);
  assert.deepEqual(await world.committed('us', orders), ['1 2', '3', '4 5 6', 'an order']);
});

test('what cannot succeed is not run again', async () => {
  const world = new World();
  const booked = await world.sample('crash-and-recover.mjs', [world.configFile(), 'eu', 'us', 'no-such-topic']);
  assert.match(booked.stderr, /create the topic/);
  assert.doesNotMatch(booked.stderr, /again: /);
  assert.notEqual(booked.code, 0);
});

test('killed after the decision, the next run finds it committed', async () => {
  const world = new World();
  const topic = await world.topic();
  const args = [world.configFile(), 'eu', 'us', topic];
  assertKilled(await world.sample('crash-and-recover.mjs', args, { GTC_CRASH_AT: 'append-decided:after' }));
  const again = await world.sample('crash-and-recover.mjs', args);
  assert.match(again.stdout, /was booked before/, again.stderr);
  assert.deepEqual(await world.committed('eu', topic), ['-100']);
  assert.deepEqual(await world.committed('us', topic), ['+100']);
});

test('killed before the decision, the next run books it', async () => {
  const world = new World();
  const topic = await world.topic();
  const args = [world.configFile(), 'eu', 'us', topic];
  assertKilled(await world.sample('crash-and-recover.mjs', args, { GTC_CRASH_AT: 'append-decided:before' }));
  const again = await world.sample('crash-and-recover.mjs', args);
  assert.match(again.stdout, /is booked, as/, again.stderr);
  assert.deepEqual(await world.committed('eu', topic), ['-100']);
  assert.deepEqual(await world.committed('us', topic), ['+100']);
});

test('killed between decision and completion, the program gtc recovers the same log', async () => {
  const world = new World();
  const topic = await world.topic();
  const file = world.configFile();
  const crash = { GTC_CRASH_AT: 'append-decided:after' };
  assertKilled(await world.sample('crash-and-recover.mjs', [file, 'eu', 'us', topic], crash));
  const program = process.env.GTC_TEST_PROGRAM;
  assert.ok(program, 'GTC_TEST_PROGRAM names the program gtc; `cargo xtask languages node` sets it');
  const recovered = await run(program, ['--config', file, 'recover']);
  assert.equal(recovered.code, 0, `${recovered.stdout}${recovered.stderr}`);
  assert.deepEqual(await world.committed('eu', topic), ['-100']);
  assert.deepEqual(await world.committed('us', topic), ['+100']);
  const again = await world.sample('crash-and-recover.mjs', [file, 'eu', 'us', topic]);
  assert.match(again.stdout, /was booked before/, again.stderr);
});
