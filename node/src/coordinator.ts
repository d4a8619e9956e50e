import { now, settled, type Abortable } from './answer';
import { assertMade, notWanted, optionalText, text, texts, transactionId } from './argument';
import { makeConsumer, type Consumer, type ConsumerOptions } from './consumer';
import { native, type Coordinator as NativeCoordinator } from './native';
import { payload } from './record';
import { source, type ConfigSource } from './source';
import { milliseconds } from './time';
import { makeTransaction, scoped, type Transaction } from './transaction';
import type { Finding, ForeignInfo, Outcome, OutcomeName, Status, TransactionId, TransactionInfo } from './types';
import { COUNT_MAX, whole } from './whole';

/** How a transaction begins. */
export interface BeginOptions {
  /** A key of the application's. */
  readonly key?: Uint8Array | string | undefined;
  /** How long it may take until it is asked to commit. */
  readonly timeoutMs?: number | undefined;
}

/** What is checked. */
export interface CheckOptions extends Abortable {
  /** These participants alone. */
  readonly participants?: readonly string[] | undefined;
  /** That this consumer group may be used, too. */
  readonly group?: string | undefined;
}

/**
 * Connects to each participant and tells what is missing for the guarantee, each with its remedy.
 * Opens no coordinator, and needs no log.
 */
export async function check(config: ConfigSource, options: CheckOptions = {}): Promise<Finding[]> {
  const { participants = [], group, signal } = options;
  return settled(() => native.check(...source(config), texts('participants', participants), optionalText('group', group)), signal);
}

/** A transaction id as people write it, such as `3-17`. */
export function formatId(id: bigint): string {
  if (typeof id !== 'bigint') throw notWanted('id', 'a bigint', id);
  return now(native.formatId(id));
}

/**
 * A transaction id from what people write.
 *
 * @throws ConfigError where it has another form.
 */
export function parseId(written: string): bigint {
  return now(native.parseId(text('id', written)));
}

/** Commits global transactions over its participants. With `await using` it closes itself at the end of its scope. */
export class Coordinator {
  readonly #native: NativeCoordinator;

  private constructor(coordinator: NativeCoordinator) {
    assertMade(coordinator, native.Coordinator, 'Coordinator.open()');
    this.#native = coordinator;
  }

  /**
   * Opens the decision log, connects to the participants, and starts the recovery of what an
   * earlier start left open. New work may begin beside it.
   *
   * @param config The path of a TOML file, its text as `{ toml }`, or the configuration as nested objects.
   * @throws ConfigError, LogError (also where another process owns the log), FencedError.
   */
  static async open(config: ConfigSource, options: Abortable = {}): Promise<Coordinator> {
    return new Coordinator(await settled(() => native.open(...source(config)), options.signal));
  }

  /** Its id. */
  get id(): string {
    return this.#native.id;
  }

  /**
   * Begins a transaction. A key of the application's lets it ask for the outcome after a
   * crash; with a time-out the transaction aborts by itself when it was not asked to commit
   * in time.
   *
   * @throws UnavailableError where a limit is reached, ClosedError.
   */
  begin(options: BeginOptions = {}): Transaction {
    const timeoutMs = milliseconds('timeoutMs', options.timeoutMs);
    return makeTransaction(now(this.#native.begin(payload('key', options.key), timeoutMs)));
  }

  /**
   * Begins a transaction, has `work` write into it, and commits it when `work` has ended: gives back its value. If it
   * throws, or the signal is aborted before the commit is asked for, the transaction aborts, and that error goes on its
   * way. What `work` has ended itself stays as it is.
   *
   * An aborted signal does not wait for `work`, whose later writes are refused. A commit that was asked for goes on: then
   * the signal changes nothing.
   *
   * @throws What `work` throws, the reason of the signal, or as `begin` and `Transaction.commit`.
   */
  async transact<T>(
    work: (transaction: Transaction) => T | PromiseLike<T>,
    options: BeginOptions & Abortable = {},
  ): Promise<T> {
    options.signal?.throwIfAborted();
    return scoped(this.begin(options), work, options.signal);
  }

  /**
   * Makes a consumer of one participant, whose offsets can be sent into transactions. It
   * reads with read_committed, and commits nothing by itself.
   *
   * @throws ConfigError, ClosedError.
   */
  async consumer(participant: string, options: ConsumerOptions): Promise<Consumer> {
    const { group, topics, reset = 'earliest', instance, recordsMax, bytesMax, signal } = options;
    const lingerMs = milliseconds('lingerMs', options.lingerMs);
    const names = texts('topics', typeof topics === 'string' ? [topics] : topics);
    whole('recordsMax', recordsMax, [1, COUNT_MAX]);
    whole('bytesMax', bytesMax, [1, COUNT_MAX]);
    const settings = {
      group: text('group', group),
      topics: names,
      reset: text('reset', reset),
      instance: optionalText('instance', instance),
      recordsMax,
      bytesMax,
      lingerMs,
    };
    return makeConsumer(await settled(() => this.#native.consumer(text('participant', participant), settings), signal));
  }

  /**
   * Waits until no promised branch of this own producer is left. A restarted application
   * calls it before it initialises the producer again, which would abort a promised branch.
   */
  async settle(participant: string, transactionalId: string, options: Abortable = {}): Promise<void> {
    await settled(() => this.#native.settle(text('participant', participant), text('transactionalId', transactionalId)), options.signal);
  }

  /**
   * Tells how a transaction ended: committed, aborted, undecided, in-doubt, mixed or unknown.
   * Unknown is not aborted: a transaction that committed in one phase leaves no record.
   */
  outcome(id: TransactionId): OutcomeName {
    return now(this.#native.outcome(transactionId(id))) as OutcomeName;
  }

  /** Finds the newest transaction with this key of the application's, and tells how it ended. */
  outcomeByKey(key: Uint8Array | string): Outcome | null {
    const wanted = payload('key', key);
    if (wanted === null) throw notWanted('key', 'a Uint8Array or a string', key);
    return now(this.#native.outcomeByKey(wanted));
  }

  /** Lists the transactions that are not ended, or ended otherwise than decided. */
  list(): TransactionInfo[] {
    return now(this.#native.list());
  }

  /** Lists the transactions that need a hand: in doubt, or mixed. Empty when all is well. */
  inDoubt(): TransactionInfo[] {
    return now(this.#native.inDoubt());
  }

  /** Describes one transaction with its branches, also an ended one within the retention. */
  describe(id: TransactionId): TransactionInfo | null {
    return now(this.#native.describe(transactionId(id)));
  }

  /**
   * Lists open branches that another log left under this coordinator's id: in doubt until an
   * operator resolves them.
   */
  foreign(): ForeignInfo[] {
    return now(this.#native.foreign());
  }

  /**
   * Ends a transaction that cannot end by itself. Commit: its branches are tried again now.
   * Abort: the open branches are given up, as a heuristic outcome.
   */
  resolve(id: TransactionId, decision: 'commit' | 'abort'): void {
    now(this.#native.resolve(transactionId(id), text('decision', decision)));
  }

  /** Ends an open branch of another log. */
  async resolveForeign(
    participant: string,
    transactionalId: string,
    decision: 'commit' | 'abort',
    options: Abortable = {},
  ): Promise<void> {
    const branch = [text('participant', participant), text('transactionalId', transactionalId)] as const;
    const resolve = () => this.#native.resolveForeign(...branch, text('decision', decision));
    await settled(resolve, options.signal);
  }

  /** Stops listing a mixed outcome, once an operator has dealt with it. */
  forget(id: TransactionId): void {
    now(this.#native.forget(transactionId(id)));
  }

  /** Waits until everything that the log left open is ended. */
  async recover(options: Abortable = {}): Promise<void> {
    await settled(() => this.#native.recover(), options.signal);
  }

  /** Waits until a participant takes branches. */
  async verified(participant: string, options: Abortable = {}): Promise<void> {
    await settled(() => this.#native.verified(text('participant', participant)), options.signal);
  }

  /**
   * Connects to each participant and tells what is missing for the guarantee, each with its
   * remedy.
   */
  async check(options: CheckOptions = {}): Promise<Finding[]> {
    const { participants = [], group, signal } = options;
    return settled(() => this.#native.check(texts('participants', participants), optionalText('group', group)), signal);
  }

  /** Tells how the coordinator and its participants stand. */
  status(): Status {
    return now(this.#native.status());
  }

  /**
   * Accepts nothing new, aborts what is undecided, waits for what is under way, closes the
   * consumers, and gives the log up. Closing twice does no harm.
   *
   * @throws TimeoutError with the number of transactions that stay open, which the next start finishes; LogError if its
   * last write failed.
   */
  async close(): Promise<void> {
    await settled(() => this.#native.close());
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
