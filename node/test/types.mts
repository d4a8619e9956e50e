/** What the types allow, and what they refuse: compiled against the installed package, and never run. */

import { AbortedError, check, Coordinator, GtcError, KINDS, Transaction, type Config, type ConsumedRecord } from 'gtc';

const config: Config = {
  coordinator: { id: 'orders', log: 'orders-log', limits: { outcomes_max: 100 } },
  participants: { eu: { kind: 'kafka', slots: 4, 'bootstrap.servers': 'eu-1:9092', 'enable.idempotence': true } },
};

export async function everything(): Promise<bigint> {
  await using coordinator: Coordinator = await Coordinator.open(config, { signal: AbortSignal.timeout(1000) });
  const findings = await check({ toml: '' }, { participants: ['eu'] });
  const levels: ('ok' | 'warn' | 'fail')[] = findings.map(({ level }) => level);
  await using consumer = await coordinator.consumer('eu', { group: 'g', topics: ['a', '^b.*'], reset: 'latest' });
  for await (const batch of consumer) {
    const records: readonly ConsumedRecord[] = batch.records;
    const offset: bigint | undefined = records[0]?.offset;
    const count: number = await coordinator.transact(async (txn: Transaction) => {
      await txn.sendMany('us', records.map(({ key, value }) => ({ topic: 'b', key, value })));
      await txn.sendOffsets(batch);
      return batch.length;
    }, { key: 'k', timeoutMs: 1000, signal: AbortSignal.timeout(1000) });
    if (offset === 7n && count > 0 && levels.length > 0) break;
  }
  try {
    const branch = await coordinator.begin().enlist('eu', 'id', 'v2');
    const metadata: number = await branch.counting(Promise.resolve(1));
    return metadata === 1 ? coordinator.list()[0]!.id : 0n;
  } catch (error) {
    if (error instanceof AbortedError) {
      const code: 'ERR_ABORTED' = error.code;
      return code.length ? error.transaction ?? 0n : 0n;
    }
    if (error instanceof GtcError && error.retry === 'after-resolve') return BigInt(KINDS.size);
    throw error;
  }
}

export async function refused(coordinator: Coordinator): Promise<void> {
  const txn = coordinator.begin();
  // @ts-expect-error: a record needs a topic
  await txn.send('eu', { value: 'value' });
  // @ts-expect-error: a number is no value
  await txn.send('eu', { topic: 'topic', value: 7 });
  // @ts-expect-error: there is no such outcome
  if (coordinator.outcome(txn.id) === 'maybe') return;
  // @ts-expect-error: an id is a bigint or text
  coordinator.forget(7);
  // @ts-expect-error: an operator commits or aborts
  coordinator.resolve(txn.id, 'rollback');
  // @ts-expect-error: only `open` makes a coordinator
  new Coordinator();
  // @ts-expect-error: only a coordinator begins a transaction
  new Transaction();
  // @ts-expect-error: a configuration has participants
  await Coordinator.open({ coordinator: { id: 'x' } });
}
