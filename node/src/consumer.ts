import { now, settled, type Abortable } from './answer';
import { assertMade, text } from './argument';
import { ClosedError } from './kinds';
import { native, type Batch as NativeBatch, type Consumer as NativeConsumer } from './native';
import { records } from './record';
import { milliseconds } from './time';
import type { ConsumedRecord, Lag, Notice, Position } from './types';
import { PARTITION_MAX, whole } from './whole';

/** What the package needs of a consumer and a batch, and nobody else. */
export let makeConsumer: (consumer: NativeConsumer) => Consumer;
export let nativeConsumer: (consumer: Consumer) => NativeConsumer;
export let nativeBatch: (batch: Batch) => NativeBatch;
let makeBatch: (batch: NativeBatch) => Batch;

/** What a consumer reads, and how. */
export interface ConsumerOptions extends Abortable {
  /** The consumer group. */
  readonly group: string;
  /** Topics; those that begin with `^` are patterns. */
  readonly topics: string | Iterable<string>;
  /** What happens where the cluster does not have a position. The default is `earliest`. */
  readonly reset?: 'earliest' | 'latest' | 'fail' | undefined;
  /**
   * Makes it a static member of the group, in the place of whoever has that name: after a crash its
   * partitions are read again at once.
   */
  readonly instance?: string | undefined;
  /** A batch is full with so many records, */
  readonly recordsMax?: number | undefined;
  /** or with so many bytes, */
  readonly bytesMax?: number | undefined;
  /** or when its first record has waited so long. */
  readonly lingerMs?: number | undefined;
}

/** How to wait for a batch. */
export interface NextOptions extends Abortable {
  /** How long to wait; without it, for as long as it takes. */
  readonly timeoutMs?: number | undefined;
}

/**
 * A consumer whose offsets travel inside transactions. Iterating (`for await`) hands out batches, and ends when it is
 * closed; it is for one task at a time. With `await using` it closes itself at the end of its scope.
 */
export class Consumer {
  readonly #native: NativeConsumer;

  private constructor(consumer: NativeConsumer) {
    assertMade(consumer, native.Consumer, 'Coordinator.consumer()');
    this.#native = consumer;
  }

  static {
    makeConsumer = (consumer) => new Consumer(consumer);
    nativeConsumer = (consumer) => consumer.#native;
  }

  /** The participant it reads from. */
  get participant(): string {
    return this.#native.participant;
  }

  /**
   * Waits for the next batch, or until the time-out passes. A batch whose offsets were not
   * sent is read again: nothing is skipped.
   *
   * Gives back `null` when the time has passed.
   *
   * @throws ClosedError; InDoubtError where a transaction with offsets of this consumer has not told how it ended: close
   * it, and make a new one, which waits for the outcome; InvalidStateError where a partition waits for `resumeAt`.
   */
  async next(options: NextOptions = {}): Promise<Batch | null> {
    const timeoutMs = milliseconds('timeoutMs', options.timeoutMs);
    const batch = await settled(() => this.#native.next(timeoutMs), options.signal);
    return batch && makeBatch(batch);
  }

  /** Batches, one after the other, until the consumer is closed. */
  async *batches(options: Abortable = {}): AsyncGenerator<Batch, void, void> {
    for (;;) {
      let batch: Batch | null;
      try {
        batch = await this.next(options);
      } catch (error) {
        if (error instanceof ClosedError) return;
        throw error;
      }
      if (batch) yield batch;
    }
  }

  /** Tells how far each assigned partition is behind, as of the last statistics. */
  lag(): Lag[] {
    return now(this.#native.lag());
  }

  /**
   * Whether everything that can be read now was handed out.
   *
   * Ask after `next` has found nothing: records may be on their way to it.
   */
  isCaughtUp(): boolean {
    return now(this.#native.isCaughtUp());
  }

  /**
   * Hands out what happened beside the batches: partitions assigned or revoked, records lost,
   * requests refused.
   */
  notices(): Notice[] {
    return now(this.#native.notices());
  }

  /** Goes on at an offset with a partition whose position the cluster no longer has. */
  async resumeAt(topic: string, partition: number, offset: bigint): Promise<void> {
    if (BigInt.asIntN(64, offset) !== offset) throw new RangeError(`offset: 64 bits are wanted, and not ${offset}`);
    whole('partition', partition, [0, PARTITION_MAX]);
    await settled(() => this.#native.resumeAt(text('topic', topic), partition, offset));
  }

  /** Leaves the group and ends the consumer. Closing twice does no harm. */
  async close(): Promise<void> {
    await settled(() => this.#native.close());
  }

  /** As `batches`. */
  [Symbol.asyncIterator](): AsyncGenerator<Batch, void, void> {
    return this.batches();
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Records, and the offsets after them. There may be no records: transaction markers move offsets too. */
export class Batch {
  readonly #native: NativeBatch;
  #records: readonly ConsumedRecord[] | undefined;

  private constructor(batch: NativeBatch) {
    assertMade(batch, native.Batch, 'Consumer.next()');
    this.#native = batch;
  }

  static {
    makeBatch = (batch) => new Batch(batch);
    nativeBatch = (batch) => batch.#native;
  }

  /** How many records it has. */
  get length(): number {
    return this.#native.length;
  }

  /** Its records; within a partition in their order. */
  get records(): readonly ConsumedRecord[] {
    this.#records ??= records(this.#native.columns());
    return this.#records;
  }

  /** The next offset to read of each partition that the batch moved. */
  get positions(): Position[] {
    return this.#native.positions;
  }

  /**
   * Whether its offsets would be refused: the group has rebalanced, or an earlier batch is
   * read again.
   */
  get isStale(): boolean {
    return this.#native.isStale;
  }

  /** Its records, one after the other. */
  [Symbol.iterator](): IterableIterator<ConsumedRecord> {
    return this.records[Symbol.iterator]();
  }
}
