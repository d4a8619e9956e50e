/** Whether asking again helps. */
export type Retry = 'never' | 'later' | 'after-resolve';

/** What an error tells beside its kind. */
export interface ErrorDetails {
  readonly retry: Retry;
  readonly operation: string;
  readonly participant: string | null;
  readonly transaction: bigint | null;
  readonly problem: string;
  readonly remedy: string;
}

/** An error of gtc: decide by its class or `code`, and by `retry`; the text is for people and no API. */
export abstract class GtcError extends Error {
  /** Its code, such as `ERR_IN_DOUBT`. */
  abstract readonly code: string;
  /** The name of the kind, the same in every language. */
  abstract readonly kind: string;
  /** The number of the kind, the same in every language. */
  abstract readonly number: number;
  /** Whether asking again helps. */
  readonly retry: Retry;
  /** The call or step that failed. */
  readonly operation: string;
  /** The participant concerned, if it is one. */
  readonly participant: string | null;
  /** The id of the transaction concerned: keep it where the error is an `InDoubtError`. */
  readonly transaction: bigint | null;
  /** What went wrong, without the names around it. */
  readonly problem: string;
  /** What to do about it. */
  readonly remedy: string;

  constructor(message: string, details: ErrorDetails) {
    super(message);
    this.name = new.target.name;
    this.retry = details.retry;
    this.operation = details.operation;
    this.participant = details.participant;
    this.transaction = details.transaction;
    this.problem = details.problem;
    this.remedy = details.remedy;
  }
}

/** The class of a kind. */
export type GtcErrorClass = new (message: string, details: ErrorDetails) => GtcError;
