// A participant of one's own: rows in a file, and transactions that another process can end. It keeps
// what the core asks of a participant: a transaction stays open under its name until it is ended, anybody
// who knows the name can ask where it stands, and to begin anew under a name ends what was open there.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Replaces a file as a whole: after a crash the old one or the new one is there. */
export function replace(path, text) {
  const file = openSync(`${path}.new`, 'w');
  writeSync(file, text);
  fsyncSync(file);
  closeSync(file);
  renameSync(`${path}.new`, path);
  const directory = openSync(dirname(path), 'r');
  fsyncSync(directory);
  closeSync(directory);
}

export class Store {
  #path;
  #state;

  constructor(path) {
    this.#path = path;
    if (existsSync(path)) {
      this.#state = JSON.parse(readFileSync(path, 'utf8'));
    } else {
      this.#state = { id: crypto.randomUUID(), producers: 0, rows: [], transactions: {} };
      // At once: a store that the log is bound to must not be another one after a crash.
      this.#save();
    }
  }

  get id() {
    return this.#state.id;
  }

  /** What is committed. */
  get rows() {
    return this.#state.rows;
  }

  #save() {
    replace(this.#path, JSON.stringify(this.#state));
  }

  /** Begins anew under a name: what was open there is aborted, and its writer is fenced. */
  initialise(name) {
    const found = this.#state.transactions[name];
    const producer = found
      ? { producer_id: found.producer.producer_id, epoch: found.producer.epoch + 1 }
      : { producer_id: String(++this.#state.producers), epoch: 0 };
    this.#state.transactions[name] = { producer, state: 'empty', start_time_ms: -1, rows: [] };
    this.#save();
    return producer;
  }

  /** Adds a row to the transaction under a name, which is open from the first one on. */
  write(name, row) {
    const transaction = this.#state.transactions[name];
    if (transaction.state !== 'ongoing')
      Object.assign(transaction, { state: 'ongoing', start_time_ms: Date.now(), rows: [] });
    transaction.rows.push(row);
    this.#save();
  }

  /** How many rows the open transaction has. */
  count(name) {
    return this.#state.transactions[name].rows.length;
  }

  /** Where the name stands; undefined if it is not known. */
  describe(name) {
    const found = this.#state.transactions[name];
    return found && { state: found.state, producer: found.producer, start_time_ms: found.start_time_ms };
  }

  list(prefix) {
    return Object.entries(this.#state.transactions)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, { producer, state }]) => ({
        transactional_id: name,
        producer_id: producer.producer_id,
        state,
      }));
  }

  /** Ends the open transaction, in one replacement of the file. False: another one is there, or none. */
  end(name, producer, decision) {
    const found = this.#state.transactions[name];
    const isSame = found && JSON.stringify(found.producer) === JSON.stringify(producer);
    if (isSame && found.state === `complete-${decision}`) return true;
    if (!isSame || found.state !== 'ongoing') return false;
    if (decision === 'commit') this.#state.rows.push(...found.rows);
    Object.assign(found, { state: `complete-${decision}`, rows: [] });
    this.#save();
    return true;
  }
}
