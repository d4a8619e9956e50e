import { settled, type Abortable } from './answer';
import { assertMade, notWanted, text } from './argument';
import { Batch, Consumer, nativeBatch, nativeConsumer } from './consumer';
import { native, type Transaction as NativeTransaction } from './native';
import { makeBranch, type OwnBranch } from './own';
import { outgoing, outgoingMany } from './record';
import type { OutgoingRecord } from './types';

/** What the package needs of a transaction, and nobody else. */
export let makeTransaction: (transaction: NativeTransaction) => Transaction;

/** When a commit is done. */
export interface CommitOptions {
  /** Once the decision is durable: readers may see the records a moment later. */
  readonly atDecision?: boolean | undefined;
}

/**
 * A global transaction. With `await using` it aborts at the end of its scope if nothing else was asked for. Let go
 * undecided, it asks for its abort.
 *
 * Several tasks may write at once.
 */
export class Transaction {
  readonly #native: NativeTransaction;
  #asked = false;

  private constructor(transaction: NativeTransaction) {
    assertMade(transaction, native.Transaction, 'Coordinator.begin()');
    this.#native = transaction;
  }

  static {
    makeTransaction = (transaction) => new Transaction(transaction);
  }

  /** Its id: keep it where the outcome may have to be asked for. */
  get id(): bigint {
    return this.#native.id;
  }

  /** Its id as people write it, such as `3-17`. */
  toString(): string {
    return native.formatId(this.id) as string;
  }

  /** Whether its commit or abort was asked for. */
  get isAsked(): boolean {
    return this.#asked;
  }

  /**
   * Sends a record to a participant, which joins the transaction by that. Waits for a free
   * slot, and while the producer's queue is full; does not wait for the delivery.
   *
   * @throws ConfigError for an unknown participant, UnavailableError, TimeoutError, FencedError, ClosedError, or how the
   * transaction ended.
   */
  async send(participant: string, record: OutgoingRecord, options: Abortable = {}): Promise<void> {
    await settled(() => this.#native.send(text('participant', participant), outgoing(record)), options.signal);
  }

  /**
   * Sends records to a participant, in their order. If one is refused, the later ones are not
   * sent.
   */
  async sendMany(participant: string, records: Iterable<OutgoingRecord>, options: Abortable = {}): Promise<void> {
    await settled(() => this.#native.sendMany(text('participant', participant), outgoingMany([...records])), options.signal);
  }

  /**
   * Moves the consumer's group behind the batch when the transaction commits. The batch is
   * done with that; if the transaction aborts, its records are read again.
   *
   * A consumer stands for the batch that it has handed out last.
   */
  async sendOffsets(batch: Batch | Consumer, options: Abortable = {}): Promise<void> {
    const send = () => {
      if (batch instanceof Consumer) return this.#native.sendOffsetsOf(nativeConsumer(batch));
      if (batch instanceof Batch) return this.#native.sendOffsets(nativeBatch(batch));
      throw notWanted('batch', 'a Batch or a Consumer', batch);
    };
    await settled(send, options.signal);
  }

  /**
   * Takes an own producer of the application in, before it begins its transaction. What is
   * told to the returned branch about its deliveries is its vote, and silence is a no.
   *
   * @param versionClass `v1` for KafkaJS and every client that builds on librdkafka.
   */
  async enlist(
    participant: string,
    transactionalId: string,
    versionClass: 'v1' | 'v2' = 'v1',
    options: Abortable = {},
  ): Promise<OwnBranch> {
    const names = [text('participant', participant), text('transactionalId', transactionalId)] as const;
    const enlist = () => this.#native.enlist(...names, text('versionClass', versionClass));
    return makeBranch(await settled(enlist, options.signal));
  }

  /**
   * Commits on every participant, or on none. Waits for all deliveries, and for the last
   * acknowledgement. In doubt means that it may have committed: ask for the outcome before
   * running it again.
   *
   * Gives back the id.
   *
   * @throws AbortedError: nothing is visible. InDoubtError: ask for the outcome. HeuristicError: a branch ended otherwise
   * than decided.
   */
  async commit(options: CommitOptions = {}): Promise<bigint> {
    this.#asked = true;
    return settled(() => this.#native.commit(options.atDecision ?? false));
  }

  /**
   * Aborts on every participant, and waits until all have done so. Deliveries that an own producer counts as open are
   * waited for first: whether it may go on rests on them.
   */
  async abort(reason = 'the application aborted'): Promise<void> {
    this.#asked = true;
    await settled(() => this.#native.abort(text('reason', reason)));
  }

  /** Aborts the transaction if it was not asked to commit or abort; else does nothing. */
  async close(): Promise<void> {
    this.#asked = true;
    await settled(() => this.#native.close());
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Has `work` write into `transaction`, and ends it as that ended. */
export async function scoped<T>(
  transaction: Transaction,
  work: (transaction: Transaction) => T | PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  let value: T;
  try {
    value = await unlessAborted(transaction, work, signal);
  } catch (error) {
    if (!transaction.isAsked) await abandon(transaction, error);
    throw error;
  }
  if (!transaction.isAsked) await transaction.commit();
  return value;
}

async function unlessAborted<T>(
  transaction: Transaction,
  work: (transaction: Transaction) => T | PromiseLike<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  if (!signal) return work(transaction);
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      // What `work` has asked for is under way, and its result is the answer.
      if (!transaction.isAsked) reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    const value = await Promise.race([(async () => work(transaction))(), aborted]);
    if (!transaction.isAsked) signal.throwIfAborted();
    return value;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Aborts; the error of the application goes first. */
async function abandon(transaction: Transaction, error: unknown): Promise<void> {
  const name = error instanceof Error ? error.name : typeof error;
  try {
    await transaction.abort(`the application raised ${name}`);
  } catch (failure) {
    process.emitWarning(`aborting transaction ${transaction}: ${failure}`, 'GtcWarning');
  }
}
