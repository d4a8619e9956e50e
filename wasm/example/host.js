// Hosts the core: keeps its log in a file, does its actions on the stores, and tells what came of it.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';

import { CoordinatorCore } from 'gtc-wasm';

import { replace } from './store.js';

const TIMEOUT_MS = 60_000;
/** INVALID_TXN_STATE, as Kafka numbers it: there is no such transaction to end. */
const INVALID_STATE = 48;

const now = () => ({
  monotonic_us: Math.trunc(Number(process.hrtime.bigint() / 1000n)),
  unix_ms: Date.now(),
});

export class Host {
  #core;
  #stores;
  #path;
  #slots = new Map();
  #onRecord;
  /** Every event, in order. */
  events = [];
  #untilUs = null;

  /** `onRecord` is told of each record once it is durable, and before the core is. */
  constructor(path, logId, stores, onRecord = () => {}) {
    const participants = Object.keys(stores).map((name) => ({
      name,
      slots_max: 4,
      timeout_ms: TIMEOUT_MS,
      margin_us: 1_000_000,
      names_max: 1000,
    }));
    const log = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
    this.#path = path;
    this.#stores = Object.values(stores);
    this.#onRecord = onRecord;
    this.#core = new CoordinatorCore({ coordinator: 'example', log_id: logId, participants }, log, now());
    this.#drain();
  }

  request(request) {
    const answer = this.#core.handleRequest(request, now());
    this.#drain();
    if (answer.refusal) throw new Error(JSON.stringify(answer));
    return answer;
  }

  /** Waits for an event that `wanted` chooses; time-outs are handled meanwhile. */
  async event(wanted) {
    for (;;) {
      const found = this.events.find(wanted);
      if (found) return found;
      if (this.#untilUs === null) throw new Error('nothing will come any more');
      const delay = Math.max(0, (this.#untilUs - now().monotonic_us) / 1000);
      await new Promise((resolve) => setTimeout(resolve, delay));
      this.#core.handleTimeout(now());
      this.#drain();
    }
  }

  /** Polls until the core waits; each action is done at once, and its response goes in. */
  #drain() {
    for (;;) {
      const output = this.#core.pollOutput();
      if (output.kind === 'wait') {
        this.#untilUs = output.wait.until_us;
        return;
      }
      if (output.kind === 'event') this.events.push(output.event);
      else this.#core.handleResponse(output.action.id, this.#do(output.action), now());
    }
  }

  #do(action) {
    const store = this.#stores[action.participant];
    const name = action.transactional_id;
    switch (action.action) {
      case 'append':
        return this.#append(action);
      case 'checkpoint':
        replace(this.#path, action.snapshot.map(({ hex }) => `${hex}\n`).join(''));
        return { response: 'appended' };
      case 'connect':
        return {
          response: 'connected',
          cluster_id: store.id,
          transaction_version: 1,
          timeout_ceiling_ms: null,
        };
      case 'list':
        return { response: 'listed', transactions: store.list(action.prefix), complete: true, detail: null };
      case 'fence':
        store.initialise(name);
        return { response: 'ended', answer: 'acknowledged' };
      case 'open-slot':
        this.#slots.set(`${action.participant}/${action.slot}`, name);
        return {
          response: 'slot-opened',
          producer: store.initialise(name),
          condition: { condition: 'clean' },
        };
      case 'verify-slot':
        return { response: 'slot-verified', condition: 'clean' };
      case 'close-slot':
        return { response: 'slot-closed' };
      default:
        return this.#end(action, store, name);
    }
  }

  #append({ records, durability }) {
    const file = openSync(this.#path, 'a');
    writeSync(file, records.map(({ hex }) => `${hex}\n`).join(''));
    if (durability === 'forced') fsyncSync(file);
    closeSync(file);
    records.forEach(({ record }) => this.#onRecord(record));
    return { response: 'appended' };
  }

  /** What belongs to the ends of transactions. */
  #end(action, store, name) {
    switch (action.action) {
      case 'prepare': {
        const count = store.count(name);
        return {
          response: 'prepared',
          writes: { sent: count, delivered: count },
          writer: store.describe(name).producer,
          inquiry: this.#inquiry(store, name),
        };
      }
      case 'inquire':
        return { response: 'inquired', ...this.#inquiry(store, name) };
      case 'end-by-writer': {
        const own = this.#slots.get(`${action.participant}/${action.slot}`);
        return this.#ended(store.end(own, store.describe(own).producer, action.decision));
      }
      case 'end-transaction': {
        const { branch, decision } = action;
        return this.#ended(store.end(branch.transactional_id, branch.producer, decision));
      }
      default:
        throw new Error(`an action that this host does not know: ${action.action}`);
    }
  }

  #inquiry(store, name) {
    const found = store.describe(name);
    return found
      ? { inquiry: 'described', ...found, timeout_ms: TIMEOUT_MS }
      : { inquiry: 'not-found' };
  }

  #ended(worked) {
    return worked
      ? { response: 'ended', answer: 'acknowledged' }
      : { response: 'ended', answer: 'code', code: INVALID_STATE };
  }
}
