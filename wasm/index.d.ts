/** The core of gtc: what goes in and comes out, as `vectors/README.md` describes it. */

/** The two clocks, which the core does not read itself. */
export interface Now {
  /** A monotonic clock that also runs in suspend, in microseconds. */
  monotonic_us: number;
  /** The wall clock, in milliseconds since the Unix epoch. */
  unix_ms: number;
}

/** `INCARNATION-SEQUENCE`. */
export type TransactionId = string;
/** The index of a participant in the configuration. */
export type Participant = number;
export type Decision = 'commit' | 'abort';
export type VersionClass = 'v1' | 'v2';
export type Reuse = 'reuse' | 'discard';

export interface Config {
  coordinator: string;
  /** 16 hexadecimal digits. */
  log_id: string;
  participants: {
    name: string;
    slots_max: number;
    timeout_ms: number;
    margin_us: number;
    names_max: number;
    /** What gives way where the participant has a lower ceiling than `timeout_ms`. */
    gives_way?: 'nothing' | 'timeout' | 'timeout-and-margin';
  }[];
  limits?: Limits;
  backoff?: { initial_us: number; max_us: number };
  seed?: number;
}

export interface Limits {
  transactions_max: number;
  branches_max: number;
  key_bytes_max: number;
  outcomes_max: number;
  discarded_max: number;
  enlist_timeout_us: number;
  report_timeout_us: number;
  slot_idle_us: number;
  sweep_interval_us: number;
  names_per_record: number;
  checkpoint_bytes: number;
}

export type Request =
  | { request: 'begin'; key_hex?: string | null; timeout_us?: number | null }
  | { request: 'enlist'; transaction: TransactionId; participant: Participant }
  | {
      request: 'enlist-own';
      transaction: TransactionId;
      participant: Participant;
      transactional_id: string;
      version_class: VersionClass;
      producer?: Producer | null;
    }
  | {
      request: 'enlist-own-newest';
      transaction: TransactionId;
      participant: Participant;
      transactional_id: string;
      producer?: Producer | null;
    }
  | { request: 'commit'; transaction: TransactionId; report?: 'acknowledged' | 'decided' }
  | { request: 'abort'; transaction: TransactionId; reason: string }
  | { request: 'settle'; participant: Participant; transactional_id: string }
  | { request: 'resolve'; transaction: TransactionId; decision: Decision }
  | {
      request: 'resolve-foreign';
      participant: Participant;
      transactional_id: string;
      decision: Decision;
    }
  | { request: 'forget'; transaction: TransactionId }
  | { request: 'unreachable' | 'broken'; participant: Participant; why: string }
  | { request: 'close' };

export type Stop =
  | { stop: 'log-failed' | 'log-fenced' | 'stale-log'; detail: string }
  | { stop: 'closed' };

export type Refusal =
  | { refusal: 'unknown-transaction'; transaction: TransactionId }
  | { refusal: 'limit'; name: string; limit: number }
  | { refusal: 'closed' }
  | ({ refusal: 'stopped' } & Stop)
  | {
      refusal:
        | 'invalid-state'
        | 'unavailable'
        | 'slot-timeout'
        | 'fenced'
        | 'wrong-cluster'
        | 'broken'
        | 'config';
      detail: string;
    };

export type Answer =
  | { accepted: 'begun'; transaction: TransactionId }
  | { accepted: 'pending' }
  | { accepted: 'done' }
  | Refusal;

export interface Producer {
  /** Decimal digits, as it may be above 2^53. */
  producer_id: string;
  epoch: number;
}

export type Writer =
  | { writer: 'slot'; slot: number }
  | { writer: 'own'; transactional_id: string };

/** A record has more members, for people; `hex` is what the log keeps. */
export interface LogRecord {
  record:
    | 'started'
    | 'cluster-bound'
    | 'names'
    | 'names-gone'
    | 'own-enlisted'
    | 'decided'
    | 'acknowledged'
    | 'heuristic'
    | 'completed'
    | 'discarded'
    | 'discard-gone'
    | 'forgotten';
  hex: string;
  [member: string]: unknown;
}

export interface Branch {
  transactional_id: string;
  producer: Producer;
  start_time_ms: number;
  timeout_ms: number;
  version_class: VersionClass;
}

export type Action = { id: number } & (
  | { action: 'append'; records: LogRecord[]; durability: 'forced' | 'lazy' }
  | { action: 'checkpoint'; snapshot: LogRecord[] }
  | { action: 'connect'; participant: Participant }
  | {
      action: 'open-slot';
      participant: Participant;
      slot: number;
      transactional_id: string;
      timeout_ms: number;
    }
  | { action: 'verify-slot' | 'close-slot'; participant: Participant; slot: number }
  | {
      action: 'prepare';
      transaction: TransactionId;
      participant: Participant;
      writer: Writer;
      transactional_id: string;
    }
  | {
      action: 'end-by-writer';
      transaction: TransactionId;
      participant: Participant;
      slot: number;
      decision: Decision;
    }
  | { action: 'end-transaction'; participant: Participant; branch: Branch; decision: Decision }
  | { action: 'inquire'; participant: Participant; transactional_id: string }
  | { action: 'fence'; participant: Participant; transactional_id: string; timeout_ms: number }
  | { action: 'list'; participant: Participant; prefix: string }
);

export type BrokerState =
  | 'empty'
  | 'ongoing'
  | 'prepare-commit'
  | 'prepare-abort'
  | 'complete-commit'
  | 'complete-abort'
  | 'dead'
  | 'prepare-epoch-fence';

export type Condition = { condition: 'clean' } | { condition: 'unproven'; detail: string };

export type Inquiry =
  | {
      inquiry: 'described';
      state: BrokerState;
      producer: Producer;
      start_time_ms: number;
      timeout_ms: number;
    }
  | { inquiry: 'not-found' }
  | { inquiry: 'refused'; code: number }
  | { inquiry: 'no-answer'; detail: string };

export interface Writes {
  sent?: number;
  delivered?: number;
  failed?: number;
  offsets_sent?: number;
  offsets_failed?: number;
  stated_delivered?: boolean;
  fenced?: boolean;
  detail?: string | null;
}

export type Response =
  | { response: 'appended' | 'slot-closed' }
  | { response: 'append-failed'; failure: 'refused' | 'unknown' | 'fenced'; detail: string }
  | {
      response: 'connected';
      cluster_id: string;
      transaction_version: number;
      timeout_ceiling_ms: number | null;
    }
  | { response: 'connect-failed'; detail: string }
  | { response: 'slot-opened'; producer: Producer; condition: Condition }
  | { response: 'slot-failed'; timeout_above_ceiling: boolean; detail: string }
  | ({ response: 'slot-verified' } & Condition)
  | {
      response: 'prepared';
      writes: Writes;
      writer: Producer | null;
      inquiry: Inquiry | null;
      strayed?: string | null;
    }
  | { response: 'ended'; answer: 'acknowledged' }
  | { response: 'ended'; answer: 'code'; code: number }
  | { response: 'ended'; answer: 'no-answer' | 'not-sent'; detail: string }
  | ({ response: 'inquired' } & Inquiry)
  | {
      response: 'listed';
      transactions: { transactional_id: string; producer_id: string; state: BrokerState }[];
      complete: boolean;
      detail: string | null;
    };

export type AbortReason =
  | { reason: 'requested' | 'log-full'; detail: string }
  | { reason: 'voted-no'; participant: Participant; detail: string }
  | { reason: 'deadline-passed' | 'broker-aborted'; participant: Participant }
  | { reason: 'timed-out' | 'closed' | 'presumed' };

export interface Heuristic {
  participant: string;
  kind: 'aborted' | 'committed' | 'hazard' | 'abandoned';
  detail: string;
}

export type Outcome =
  | { outcome: 'committed' }
  | ({ outcome: 'aborted' } & AbortReason)
  | { outcome: 'in-doubt'; detail: string }
  | { outcome: 'mixed'; decision: Decision; heuristic: Heuristic[] };

export type Event =
  | { event: 'started' | 'recovered' | 'drained' }
  | {
      event: 'participant';
      participant: Participant;
      status: 'starting' | 'verified' | 'unavailable' | 'stopped';
      detail?: string;
    }
  | {
      event: 'enlisted';
      transaction: TransactionId;
      participant: Participant;
      slot: number | null;
      transactional_id: string;
    }
  | ({
      event: 'enlist-refused';
      transaction: TransactionId;
      participant: Participant;
      own: string | null;
    } & Refusal)
  | { event: 'decided'; transaction: TransactionId }
  | ({ event: 'ended'; transaction: TransactionId } & Outcome)
  | {
      event: 'own-released';
      transaction: TransactionId;
      participant: Participant;
      transactional_id: string;
      reuse: Reuse;
    }
  | ({ event: 'heuristic'; transaction: TransactionId } & Heuristic)
  | { event: 'settled'; participant: Participant; transactional_id: string }
  | { event: 'foreign'; participant: string; transactional_id: string; state: BrokerState }
  | {
      event: 'foreign-resolved';
      participant: Participant;
      transactional_id: string;
      error: string | null;
    }
  | ({ event: 'stopped' } & Stop);

export type WaitReason =
  | 'input'
  | 'deadline'
  | 'enlist-timeout'
  | 'branch-retry'
  | 'participant-retry'
  | 'sweep'
  | 'idle-slots'
  | 'log-retry';

export type Output =
  | { kind: 'action'; action: Action }
  | { kind: 'event'; event: Event }
  | {
      kind: 'wait';
      /** When `handleTimeout` is to be called, on the monotonic clock; null: not before more comes in. */
      wait: { until_us: number | null; reason: WaitReason };
    };

/** What was put in is not what it has to be, or the core is gone. Nothing was changed. */
export class CoreError extends Error {
  name: 'CoreError';
}

/**
 * The core of one coordinator: a state machine without I/O, clock and threads, for hosts with a loop and
 * participants of their own.
 *
 * The contract: put one thing in, then poll until the output is a wait, and do the actions; the response
 * to each goes in under its id. Make records durable, in their order, before they are answered `appended`.
 */
export class CoordinatorCore {
  /**
   * A core that goes on where the records of its log end: the `hex` of each, oldest first. Drain it at once.
   *
   * @throws CoreError for a configuration that cannot work, and for records that are damaged or out of order.
   */
  constructor(config: Config, log: string[], now: Now);
  /** Takes a request in, and gives what it is answered at once. A refusal is an answer. */
  handleRequest(request: Request, now: Now): Answer;
  /** Takes the response to an action in. Late, repeated and unknown ones are ignored. */
  handleResponse(id: number, response: Response, now: Now): void;
  /** Does what is due. Calling it early or often does no harm. */
  handleTimeout(now: Now): void;
  /** The next output. Call it until it is a wait. */
  pollOutput(): Output;
  /** Frees it; freeing it twice does no harm. Nothing is lost: its log is its host's. */
  free(): void;
}

/**
 * In browsers: fetches the module, from where the package is or from the URL or bytes given, after which
 * `CoordinatorCore` is there. In Node it is there at once.
 */
export default function initialise(
  source?: string | URL | ArrayBuffer | ArrayBufferView,
): Promise<typeof CoordinatorCore>;
