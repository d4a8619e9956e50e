/** The native module, with the types of what it offers; a test compares both. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Outcome, Finding, ForeignInfo, Lag, Notice, Position, Status, TransactionInfo } from './types';

/** A value, why there is none, or what can be waited for. */
export type Answer<T> = T | Failure | Pending<T>;
/** A value, or why there is none. */
export type Now<T> = T | Failure;
/** A transaction id as a number or as text. */
export type Id = bigint | string;
/** Bytes, or text that is written as UTF-8. */
export type Bytes = Uint8Array | string;

export interface Failure {
  readonly kind: number;
  readonly message: string;
  readonly retry: string;
  readonly operation: string;
  readonly participant: string | null;
  readonly transaction: bigint | null;
  readonly problem: string;
  readonly remedy: string;
}

export interface Pending<T> {
  promise(): Promise<T | Failure>;
  cancel(): void;
}

export interface Coordinator {
  readonly id: string;
  begin(key: Bytes | null, timeoutMs: number | undefined): Now<Transaction>;
  consumer(participant: string, settings: ConsumerSettings): Answer<Consumer>;
  settle(participant: string, transactionalId: string): Answer<void>;
  outcome(id: Id): Now<string>;
  outcomeByKey(key: Bytes): Now<Outcome | null>;
  list(): Now<TransactionInfo[]>;
  inDoubt(): Now<TransactionInfo[]>;
  describe(id: Id): Now<TransactionInfo | null>;
  foreign(): Now<ForeignInfo[]>;
  resolve(id: Id, decision: string): Now<void>;
  resolveForeign(participant: string, transactionalId: string, decision: string): Answer<void>;
  forget(id: Id): Now<void>;
  recover(): Answer<void>;
  verified(participant: string): Answer<void>;
  check(participants: string[], group: string | undefined): Answer<Finding[]>;
  status(): Now<Status>;
  close(): Answer<void>;
}

export interface ConsumerSettings {
  group: string;
  topics: string[];
  reset: string;
  instance: string | undefined;
  recordsMax: number | undefined;
  bytesMax: number | undefined;
  lingerMs: number | undefined;
}

export interface Transaction {
  readonly id: bigint;
  send(participant: string, record: Outgoing): Answer<void>;
  sendMany(participant: string, records: OutgoingRecords): Answer<void>;
  sendOffsets(batch: Batch): Answer<void>;
  sendOffsetsOf(consumer: Consumer): Answer<void>;
  enlist(participant: string, transactionalId: string, versionClass: string): Answer<OwnBranch>;
  commit(atDecision: boolean): Answer<bigint>;
  abort(reason: string): Answer<void>;
  close(): Answer<void>;
}

export interface Outgoing {
  topic: string;
  partition: number | undefined;
  key: Bytes | undefined;
  value: Bytes | undefined;
  timestampMs: number | undefined;
  headerNames: string[];
  headerValues: (Bytes | null)[];
}

export interface OutgoingRecords {
  topics: string[];
  numbers: Int32Array;
  timestampMs: Float64Array;
  bytes: Buffer;
  headerNames: string[];
}

export interface OwnBranch {
  sent(): void;
  delivered(): void;
  deliveredTo(topic: string, partition: number): void;
  failed(reason: string): void;
  stateDelivered(): void;
  stateFailed(reason: string): void;
  finished(): Answer<string>;
}

export interface Consumer {
  readonly participant: string;
  next(timeoutMs: number | undefined): Answer<Batch | null>;
  lag(): Now<Lag[]>;
  isCaughtUp(): Now<boolean>;
  notices(): Now<Notice[]>;
  resumeAt(topic: string, partition: number, offset: bigint): Answer<void>;
  close(): Answer<void>;
}

export interface Batch {
  readonly length: number;
  readonly positions: Position[];
  readonly isStale: boolean;
  columns(): Columns;
}

/** The records of a batch by columns; a length of -1 stands for null. */
export interface Columns {
  topics: string[];
  topic: Int32Array;
  partition: Int32Array;
  offset: BigInt64Array;
  timestampMs: Float64Array;
  bytes: Buffer;
  keyLength: Int32Array;
  valueLength: Int32Array;
  headers: Int32Array;
  headerNames: string[];
  headerLength: Int32Array;
}

type Values = [string, string][];

export interface Native {
  Failure: abstract new () => Failure;
  Pending: abstract new () => Pending<unknown>;
  Coordinator: abstract new () => Coordinator;
  Transaction: abstract new () => Transaction;
  OwnBranch: abstract new () => OwnBranch;
  Consumer: abstract new () => Consumer;
  Batch: abstract new () => Batch;
  open(kind: string, text: string, values: Values): Answer<Coordinator>;
  check(kind: string, text: string, values: Values, participants: string[], group?: string): Answer<Finding[]>;
  formatId(id: bigint): Now<string>;
  parseId(text: string): Now<bigint>;
}

/** The module for this platform; where there are several C libraries, the one that loads. */
function load(): Native {
  const platform = `${process.platform}-${process.arch}`;
  const names = process.platform === 'linux' ? [`${platform}-gnu`, `${platform}-musl`] : [platform];
  const paths = names.map((name) => join(__dirname, '..', 'native', `gtc.${name}.node`)).filter((path) => existsSync(path));
  let cause: unknown;
  for (const path of paths) {
    try {
      return require(path) as Native;
    } catch (error) {
      cause = error;
    }
  }
  const missing = `gtc has no native module that loads on ${platform}: build the package on this platform`;
  throw new Error(missing, { cause });
}

export const native = load();
