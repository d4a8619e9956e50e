// TypeScript 6 and newer takes no types in by itself, and those of Node are in ours.
/// <reference types="node" preserve="true" />

/** gtc commits one transaction over two or more Kafka clusters: on all of them, or on none. */

export type { Abortable } from './answer';
export type { Config, CoordinatorConfig, LimitsConfig, ParticipantConfig } from './config';
export { Batch, Consumer, type ConsumerOptions, type NextOptions } from './consumer';
export { check, Coordinator, formatId, parseId, type BeginOptions, type CheckOptions } from './coordinator';
export { GtcError, type ErrorDetails, type GtcErrorClass, type Retry } from './error';
export {
  AbortedError,
  ClosedError,
  ConfigError,
  FencedError,
  HeuristicError,
  InDoubtError,
  InternalError,
  InvalidStateError,
  KINDS,
  LogError,
  TimeoutError,
  UnavailableError,
  UnsupportedError,
} from './kinds';
export { OwnBranch } from './own';
export type { ConfigSource } from './source';
export { Transaction, type CommitOptions } from './transaction';
export type * from './types';
