import { settled, type Abortable } from './answer';
import { assertMade, text } from './argument';
import { native, type OwnBranch as NativeBranch } from './native';
import { PARTITION_MAX, whole } from './whole';

/** What the package needs of a branch, and nobody else. */
export let makeBranch: (branch: NativeBranch) => OwnBranch;

/**
 * The branch of an own producer. What it is told about the producer's deliveries is its vote: count them, or state the
 * result once; nothing said is a no.
 *
 * Only after the transaction's outcome may the producer call its own commit or abort, which is then a harmless repeat.
 */
export class OwnBranch {
  readonly #native: NativeBranch;

  private constructor(branch: NativeBranch) {
    assertMade(branch, native.OwnBranch, 'Transaction.enlist()');
    this.#native = branch;
  }

  static {
    makeBranch = (branch) => new OwnBranch(branch);
  }

  /** Counts a record that was handed to the producer. */
  sent(): void {
    this.#native.sent();
  }

  /** Counts a record that was delivered. */
  delivered(): void {
    this.#native.delivered();
  }

  /**
   * Counts a record that was delivered to this partition, which the transaction at the broker
   * has to have.
   */
  deliveredTo(topic: string, partition: number): void {
    this.#native.deliveredTo(text('topic', topic), whole('partition', partition, [0, PARTITION_MAX]) ?? 0);
  }

  /** Counts a record that was not delivered, or perhaps not. */
  failed(reason: unknown): void {
    this.#native.failed(String(reason));
  }

  /** States that all that was written is delivered, instead of counting. */
  stateDelivered(): void {
    this.#native.stateDelivered();
  }

  /** States that something that was written is not delivered, or perhaps not. */
  stateFailed(reason: unknown): void {
    this.#native.stateFailed(String(reason));
  }

  /**
   * Counts a send as sent, and as delivered or failed by what its promise says: that of a client which keeps it only when
   * the cluster has the records, as KafkaJS does. `await branch.counting(transaction.send({ topic, messages }))`
   *
   * What KafkaJS says of the partitions is told too.
   */
  async counting<T>(sending: PromiseLike<T>): Promise<T> {
    this.sent();
    try {
      const result = await sending;
      this.#tell(result);
      return result;
    } catch (error) {
      this.failed(error);
      throw error;
    }
  }

  /** One delivery was counted as sent; KafkaJS names each partition that its records went to. */
  #tell(result: unknown): void {
    const written = Array.isArray(result) ? result.filter(isWritten) : [];
    if (written.length === 0) {
      this.delivered();
      return;
    }
    for (const [index, { topicName, partition }] of written.entries()) {
      if (index > 0) this.sent();
      this.deliveredTo(topicName, partition);
    }
  }

  /**
   * Waits until the branch is ended, and tells whether the producer may go on: reuse, or
   * discard, which means to close it and make a new one.
   *
   * @throws InDoubtError if the branch is not ended when the transaction is for its caller: discard the producer, and
   * settle its transactional.id before making a new one.
   */
  async finished(options: Abortable = {}): Promise<'reuse' | 'discard'> {
    return (await settled(() => this.#native.finished(), options.signal)) as 'reuse' | 'discard';
  }
}

/** Where KafkaJS wrote records to, as its sends tell it. */
interface Written {
  readonly topicName: string;
  readonly partition: number;
}

function isWritten(value: unknown): value is Written {
  const { topicName, partition } = (value ?? {}) as Partial<Written>;
  return typeof topicName === 'string' && typeof partition === 'number';
}
