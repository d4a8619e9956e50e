/** What the verbs take and give back. */

/** A key, a value or a header's value. Text is written as UTF-8; `null` differs from empty. */
export type Payload = Uint8Array | string | null;

/** Headers in their order; pairs where a name comes twice. */
export type Headers = Iterable<readonly [string, Payload]> | Readonly<Record<string, Payload>>;

/** A transaction id: as a number, or as people write it, such as `3-17`. */
export type TransactionId = bigint | string;

/** How a transaction ended. */
export type OutcomeName = 'committed' | 'aborted' | 'undecided' | 'in-doubt' | 'mixed' | 'unknown';

/** A record to write. */
export interface OutgoingRecord {
  readonly topic: string;
  /** `null`, or none, is a tombstone, which differs from an empty value. */
  readonly value?: Payload | undefined;
  /** `null`, or none, is a null key, which differs from an empty one. */
  readonly key?: Payload | undefined;
  readonly headers?: Headers | undefined;
  /** Without one the partitioner chooses. */
  readonly partition?: number | null | undefined;
  /** Milliseconds since the Unix epoch; without one it is now. */
  readonly timestampMs?: number | null | undefined;
}

/** A record that was read. Its bytes are views of its batch's memory, which is kept for as long as one of them is. */
export interface ConsumedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly key: Buffer | null;
  /** `null` is a tombstone, which differs from an empty value. */
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [string, Buffer | null])[];
  /** Milliseconds since the Unix epoch, if the record has a timestamp. */
  readonly timestampMs: number | null;
}

/** The newest transaction with a key, and how it ended. */
export interface Outcome {
  readonly id: bigint;
  readonly outcome: OutcomeName;
}

/** The next offset to read of a partition. */
export interface Position {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

/** How far a partition is behind. */
export interface Lag {
  readonly topic: string;
  readonly partition: number;
  /** The next offset to read, once it is known. */
  readonly position: bigint | null;
  /** The end of what can be read. */
  readonly end: bigint;
}

/** Something that happened beside the batches. */
export interface Notice {
  readonly kind: 'assigned' | 'revoked' | 'out-of-range' | 'trouble';
  readonly text: string;
  readonly partitions: readonly { readonly topic: string; readonly partition: number }[];
}

/** One participant's part of a transaction. */
export interface BranchInfo {
  readonly participant: string;
  readonly transactionalId: string | null;
  readonly state: string;
  /** The last error, or the evidence. */
  readonly detail: string | null;
}

/** A transaction as operators see it. */
export interface TransactionInfo {
  readonly id: bigint;
  /** The id as people write it, such as `3-17`. */
  readonly text: string;
  /** The application's key. */
  readonly key: Buffer | null;
  readonly state: string;
  /** Once it is decided. */
  readonly decision: 'commit' | 'abort' | null;
  /** When it was decided (or began), in milliseconds since the Unix epoch. */
  readonly sinceUnixMs: number;
  readonly branches: readonly BranchInfo[];
}

/** An open branch that another log left under this coordinator's id. */
export interface ForeignInfo {
  readonly participant: string;
  readonly transactionalId: string;
  readonly state: string;
}

/** How a participant stands. */
export interface ParticipantInfo {
  readonly name: string;
  readonly state: 'starting' | 'verified' | 'unavailable' | 'stopped' | 'other';
  readonly detail: string | null;
  readonly slotsOpen: number;
  readonly slotsFree: number;
  readonly waiting: number;
}

/** How a coordinator stands. */
export interface Status {
  readonly coordinator: string;
  readonly incarnation: number;
  /** Whether everything that the log left open is ended. */
  readonly recovered: boolean;
  /** Why it stopped for good, if it did. */
  readonly stopped: string | null;
  readonly participants: readonly ParticipantInfo[];
  /** Transactions that are not ended, or ended otherwise than decided. */
  readonly open: number;
}

/** One precondition of the guarantee on one participant. */
export interface Finding {
  readonly participant: string;
  readonly check: string;
  readonly level: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  readonly remedy: string | null;
}
