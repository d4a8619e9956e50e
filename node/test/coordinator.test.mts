/** Transactions on real clusters. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as gtc from 'gtc';

import { closing, PATIENCE_MS, World } from './world.mjs';

test('transact commits on both clusters', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  const id = await coordinator.transact(
    async (txn) => {
      await txn.send('eu', { topic, key: 'key', value: Buffer.from('value'), partition: 0, timestampMs: 1234 });
      await txn.send('us', { topic, value: 'ü', headers: [['h', '1'], ['h', null]] });
      await txn.sendMany('us', [{ topic, key: '' }, { topic, value: new Uint8Array() }, { topic, headers: { a: 'b' } }]);
      assert.equal(gtc.parseId(`${txn}`), txn.id);
      return txn.id;
    },
    { key: 'order-1' },
  );
  assert.equal(typeof id, 'bigint');
  assert.deepEqual(coordinator.outcomeByKey(Buffer.from('order-1')), { id, outcome: 'committed' });
  assert.equal(coordinator.outcome(id), 'committed');
  assert.equal(coordinator.outcome(gtc.formatId(id)), 'committed');
  assert.deepEqual(coordinator.inDoubt(), []);
  const described = coordinator.describe(id);
  assert.equal(String(described?.key), 'order-1');
  assert.equal(described?.text, gtc.formatId(id));

  const [eu, ...more] = await world.messages('eu', topic);
  assert.deepEqual([String(eu?.key), String(eu?.value), eu?.timestamp, more.length], ['key', 'value', '1234', 0]);
  const us = await world.messages('us', topic);
  assert.deepEqual(us.map(({ key, value }) => [key && String(key), value && String(value)]), [[null, 'ü'], ['', null], [null, ''], [null, null]]);
  assert.deepEqual(us.map(({ headers }) => headers), [{ h: [Buffer.from('1'), null] }, {}, {}, { a: Buffer.from('b') }]);
});

test('an exception aborts and goes on its way', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  let kept: gtc.Transaction | undefined;
  const failing = coordinator.transact(async (txn) => {
    kept = txn;
    await txn.send('eu', { topic, value: 'value' });
    await txn.send('us', { topic, value: 'value' });
    throw new RangeError('the application');
  });
  await assert.rejects(failing, RangeError);
  assert.ok(kept);
  assert.equal(coordinator.outcome(kept.id), 'aborted');
  await assert.rejects(kept.send('eu', { topic, value: 'late' }), (error) => {
    assert.ok(error instanceof gtc.InvalidStateError);
    assert.deepEqual([error.code, error.transaction, error.name], ['ERR_INVALID_STATE', kept?.id, 'InvalidStateError']);
    return true;
  });
  await assert.rejects(coordinator.transact(() => { throw new SyntaxError('at once'); }), SyntaxError);
  assert.deepEqual([await world.committed('eu', topic), await world.committed('us', topic)], [[], []]);
});

test('what was ended inside stays as it is', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  await coordinator.transact(async (txn) => {
    await txn.send('eu', { topic, value: 'no' });
    await txn.abort('the application has changed its mind');
  });
  const txn = await coordinator.transact(async (txn) => {
    await txn.send('eu', { topic, value: 'yes' });
    assert.equal(await txn.commit({ atDecision: true }), txn.id);
    return txn;
  });
  await txn.close();
  assert.deepEqual(await world.committed('eu', topic), ['yes']);
});

test('await using aborts a transaction and closes a coordinator', async () => {
  const world = new World();
  const topic = await world.topic();
  let id: bigint;
  {
    await using coordinator = await gtc.Coordinator.open(world.config());
    {
      await using txn = coordinator.begin({ timeoutMs: PATIENCE_MS });
      await txn.send('eu', { topic, value: 'no' });
      id = txn.id;
    }
    assert.equal(coordinator.outcome(id), 'aborted');
    await using txn = coordinator.begin();
    await txn.send('eu', { topic, value: 'yes' });
    await txn.commit();
  }
  await using again = await gtc.Coordinator.open(world.config());
  await again.recover();
  assert.deepEqual(await world.committed('eu', topic), ['yes']);
});

test('an aborted signal aborts the transaction, but no commit that was asked for', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  const controller = new AbortController();
  let kept: gtc.Transaction | undefined;
  const hanging = coordinator.transact(
    async (txn) => {
      kept = txn;
      await txn.send('eu', { topic, value: 'no' });
      controller.abort(new RangeError('the user went away'));
      await new Promise(() => {});
    },
    { signal: controller.signal },
  );
  await assert.rejects(hanging, RangeError);
  assert.equal(coordinator.outcome(kept!.id), 'aborted');
  const { signal } = controller;
  await assert.rejects(coordinator.transact(() => assert.fail('it began'), { signal }), RangeError);

  const late = new AbortController();
  await coordinator.transact(
    async (txn) => {
      await txn.send('eu', { topic, value: 'yes' });
      const committing = txn.commit();
      late.abort();
      await committing;
    },
    { signal: late.signal },
  );
  assert.deepEqual(await world.committed('eu', topic), ['yes']);
});

test('a transaction with a write that was given up can only abort', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  const txn = coordinator.begin();
  const controller = new AbortController();
  // The first write opens a slot, which takes a while.
  const sending = txn.send('eu', { topic, value: 'value' }, { signal: controller.signal });
  controller.abort();
  await assert.rejects(sending, { name: 'AbortError' });
  await assert.rejects(txn.commit(), gtc.AbortedError);
  assert.deepEqual(await world.committed('eu', topic), []);
});

test('tasks commit and abort at once', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  const book = (number: number) =>
    coordinator.transact(async (txn) => {
      await txn.send('eu', { topic, value: `${number}` });
      await txn.sendMany('us', [{ topic, value: `${number}` }]);
      if (number % 2) throw new RangeError(String(number));
    });
  const results = await Promise.allSettled(Array.from({ length: 8 }, (_, number) => book(number)));
  const rejected = results.filter((result) => result.status === 'rejected' && result.reason instanceof RangeError);
  assert.deepEqual([rejected.length, results.length], [4, 8]);
  for (const cluster of ['eu', 'us']) {
    const committed = await world.committedOfMany(coordinator, cluster, topic);
    assert.deepEqual(committed.sort(), ['0', '2', '4', '6'], cluster);
  }
});

test('errors have the class and the code of their kind', async (t) => {
  const world = new World();
  await assert.rejects(gtc.Coordinator.open({ coordinator: { id: 'x' }, participants: {} }), (error) => {
    assert.ok(error instanceof gtc.ConfigError && error instanceof gtc.GtcError && error instanceof Error);
    assert.deepEqual([error.kind, error.code, error.number, error.retry], ['config', 'ERR_CONFIG', 3, 'never']);
    assert.match(error.problem, /log/);
    assert.match(String(error.stack), /coordinator\.test/);
    return true;
  });
  const wrong: unknown[] = [undefined, 7, { participants: null }, { coordinator: { id: ['x'] } }];
  for (const config of wrong) await assert.rejects(gtc.Coordinator.open(config as string), TypeError);
  const coordinator = closing(t, await gtc.Coordinator.open(world.configFile()));
  await assert.rejects(gtc.Coordinator.open(world.config()), { code: 'ERR_LOG', retry: 'later' });
  const txn = coordinator.begin();
  await assert.rejects(txn.send('eux', { topic: 'topic' }), { code: 'ERR_CONFIG', participant: 'eux', remedy: 'did you mean `eu`?' });
  await assert.rejects(txn.send('eu', { topic: 'topic', value: 7 as unknown as string }), TypeError);
  const seven = '7' as unknown as number;
  for (const wrong of [{ partition: seven }, { timestampMs: seven }, { topic: 7 as unknown as string }]) {
    await assert.rejects(txn.sendMany('eu', [{ topic: 'topic', value: 'value', ...wrong }]), TypeError);
  }
  await txn.abort();
  assert.throws(() => coordinator.begin({ timeoutMs: -1 }), RangeError);
  assert.throws(() => coordinator.outcome('seventeen'), { code: 'ERR_CONFIG' });
  assert.throws(() => coordinator.outcome(-1n), { code: 'ERR_CONFIG' });
  assert.throws(() => coordinator.outcome(1n << 200n), { code: 'ERR_CONFIG' });
  assert.throws(() => coordinator.forget(txn.id), { code: 'ERR_INVALID_STATE' });
  assert.equal(coordinator.outcome(1n << 80n), 'unknown');
  await coordinator.close();
  assert.throws(() => coordinator.begin(), gtc.ClosedError);
  await coordinator.close();
});

test('what no cluster can take is refused at once', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  for (const name of ['', 'a\0b']) {
    const txn = coordinator.begin();
    await txn.send('us', { topic, value: 'value' });
    await assert.rejects(txn.send('eu', { topic: name }), gtc.ConfigError);
    await assert.rejects(txn.commit(), (error) => error instanceof gtc.AbortedError && error.retry === 'never');
  }
  const txn = coordinator.begin();
  await assert.rejects(txn.enlist('eu', ''), (error) => error instanceof gtc.ConfigError && /transactional.id/.test(error.problem));
  await txn.abort();
  await assert.rejects(coordinator.settle('eu', ''), gtc.ConfigError);
  assert.throws(() => coordinator.begin({ key: 'k'.repeat(1025) }), gtc.ConfigError);
  assert.deepEqual(await world.committed('us', topic), []);
});

test('a place that the cluster does not have is not to be tried again', async (t) => {
  const world = new World();
  const topic = await world.topic();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  for (const [record, remedy] of [[{ topic, partition: 99 }, /partition/], [{ topic: 'no-such' }, /create/]] as const) {
    const transacting = coordinator.transact(async (txn) => {
      await txn.send('us', { topic, value: 'value' });
      await txn.send('eu', record);
    });
    await assert.rejects(transacting, (error) => {
      assert.ok(error instanceof gtc.GtcError, String(error));
      assert.equal(error.retry, 'never', error.message);
      assert.match(error.remedy, remedy);
      assert.ok(error.problem.includes(record.topic) && error.problem.includes('`eu`'), error.problem);
      return true;
    });
  }
  assert.deepEqual(await world.committed('us', topic), []);
});

test('values of a wrong type are refused by the name of the argument', async (t) => {
  const world = new World();
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  const txn = coordinator.begin();
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  const any = (value: unknown): any => value;
  const made = (Class: unknown) => new (Class as new (native: unknown) => object)({});
  const attempts: [RegExp, () => unknown][] = [
    [/toml: .* not number/, () => gtc.check({ toml: any(5) })],
    [/^participants: .* not number/, () => gtc.check(world.config(), { participants: any(5) })],
    [/id: .* not number/, () => coordinator.outcome(any(5))],
    [/id: .* not number/, () => coordinator.describe(any(5))],
    [/id: .* not number/, () => gtc.formatId(any(5))],
    [/id: .* not undefined/, () => gtc.parseId(any(undefined))],
    [/decision: .* not number/, () => coordinator.resolve('1-1', any(5))],
    [/key: .* not null/, () => coordinator.outcomeByKey(any(null))],
    [/participant: .* not null/, () => coordinator.settle(any(null), 'x')],
    [/transactionalId: .* not undefined/, () => coordinator.settle('eu', any(undefined))],
    [/participant: .* not number/, () => txn.send(any(5), { topic: 'topic' })],
    [/batch: .* not object/, () => txn.sendOffsets(any({}))],
    [/transactionalId: .* not number/, () => txn.enlist('eu', any(5))],
    [/name of a header: .* not number/, () => txn.send('eu', { topic: 'topic', headers: any([[5, 'value']]) })],
    [/group: .* not undefined/, () => coordinator.consumer('eu', any({ topics: 'topic' }))],
    [/topics: .* not number/, () => coordinator.consumer('eu', any({ group: 'group', topics: 5 }))],
    [/Coordinator.open/, () => made(gtc.Coordinator)],
    [/Coordinator.begin/, () => made(gtc.Transaction)],
    [/Coordinator.consumer/, () => made(gtc.Consumer)],
    [/Consumer.next/, () => made(gtc.Batch)],
    [/Transaction.enlist/, () => made(gtc.OwnBranch)],
  ];
  for (const [told, attempt] of attempts) {
    await assert.rejects(async () => attempt(), (error) => error instanceof TypeError && told.test(error.message), String(told));
  }
  await txn.abort();
});

test('every kind has a class, a code and a number', () => {
  assert.deepEqual([...gtc.KINDS.keys()], Array.from({ length: 12 }, (_, index) => index + 1));
  for (const [number, Kind] of gtc.KINDS) {
    const details = { retry: 'never', operation: '', participant: null, transaction: null, problem: '', remedy: '' } as const;
    const error = new Kind('text', details);
    assert.ok(error instanceof gtc.GtcError);
    assert.equal(error.number, number);
    assert.equal(error.code, `ERR_${error.kind.toUpperCase().replace('-', '_')}`);
    assert.equal(gtc[Kind.name as 'LogError'], Kind);
  }
});

test('checks and status', async (t) => {
  const world = new World();
  for (const config of [world.config(), new URL(`file://${world.configFile()}`)]) {
    const found = await gtc.check(config, { participants: ['us'] });
    assert.deepEqual([...new Set(found.map(({ participant }) => participant))], ['us']);
    assert.equal(found.find(({ check }) => check === 'reachable')?.level, 'ok');
  }
  const coordinator = closing(t, await gtc.Coordinator.open(world.config()));
  await Promise.all([coordinator.recover(), coordinator.verified('eu'), coordinator.verified('us')]);
  const status = coordinator.status();
  assert.deepEqual([status.coordinator, status.recovered, status.open, status.stopped], [world.name, true, 0, null]);
  assert.deepEqual(status.participants.map(({ state }) => state), ['verified', 'verified']);
  assert.deepEqual([coordinator.list(), coordinator.foreign(), coordinator.id], [[], [], world.name]);
  const [finding] = await coordinator.check({ participants: ['eu'], group: world.name });
  assert.equal(finding?.participant, 'eu');
});
