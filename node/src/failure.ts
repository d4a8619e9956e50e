import type { GtcError, Retry } from './error';
import { KINDS } from './kinds';
import type { Failure } from './native';

/** The error of a failure. */
export function failed(failure: Failure): GtcError {
  const Kind = KINDS.get(failure.kind);
  // The table is generated from that of the native module.
  if (!Kind) throw new Error(`gtc has no kind of error with the number ${failure.kind}: ${failure.message}`);
  return new Kind(failure.message, {
    retry: failure.retry as Retry,
    operation: failure.operation,
    participant: failure.participant,
    transaction: failure.transaction,
    problem: failure.problem,
    remedy: failure.remedy,
  });
}
