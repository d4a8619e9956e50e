import { text } from './argument';
import type { Columns, Outgoing, OutgoingRecords } from './native';
import type { ConsumedRecord, Headers, OutgoingRecord, Payload } from './types';
import { PARTITION_MAX, whole } from './whole';

/** A record as the native module takes it. */
export function outgoing(record: OutgoingRecord): Outgoing {
  const headers = pairs(record.headers);
  return {
    topic: topicOf(record),
    partition: partitionOf(record),
    key: payload('key', record.key) ?? undefined,
    value: payload('value', record.value) ?? undefined,
    timestampMs: timestampOf(record),
    headerNames: headers.map(([name]) => name),
    headerValues: headers.map(([name, value]) => payload(`header ${name}`, value)),
  };
}

/** Where a record has no partition. */
const NO_PARTITION = -(2 ** 31);

/** Records as they cross in one call: their numbers in one array, their bytes in one piece, which the native module copies. */
export function outgoingMany(records: readonly OutgoingRecord[]): OutgoingRecords {
  const topics = new Map<string, number>();
  const payloads = new Payloads();
  const numbers: number[] = [];
  const headerNames: string[] = [];
  const timestampMs = records.map((record) => {
    numbers.push(indexOf(topics, topicOf(record)), partitionOf(record) ?? NO_PARTITION);
    numbers.push(payloads.add('key', record.key), payloads.add('value', record.value));
    const headers = pairs(record.headers);
    numbers.push(headers.length);
    for (const [name, value] of headers) {
      headerNames.push(name);
      numbers.push(payloads.add(`header ${name}`, value));
    }
    return timestampOf(record) ?? NaN;
  });
  return {
    topics: [...topics.keys()],
    numbers: Int32Array.from(numbers),
    timestampMs: Float64Array.from(timestampMs),
    bytes: payloads.concat(),
    headerNames,
  };
}

/** Keys, values and headers' values, one after the other. */
class Payloads {
  readonly #parts: (string | Uint8Array)[] = [];
  #length = 0;

  /** Its length in bytes; -1 where there is none. */
  add(what: string, value: Payload | undefined): number {
    const checked = payload(what, value);
    if (checked === null) return -1;
    const length = typeof checked === 'string' ? Buffer.byteLength(checked) : checked.byteLength;
    this.#parts.push(checked);
    this.#length += length;
    return length;
  }

  concat(): Buffer {
    const bytes = Buffer.allocUnsafe(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      if (typeof part === 'string') {
        at += bytes.write(part, at);
      } else {
        bytes.set(part, at);
        at += part.byteLength;
      }
    }
    return bytes;
  }
}

/** Each topic once. */
function indexOf(topics: Map<string, number>, topic: string): number {
  const known = topics.get(topic);
  if (known !== undefined) return known;
  topics.set(topic, topics.size);
  return topics.size - 1;
}

function topicOf({ topic }: OutgoingRecord): string {
  return text('topic', topic);
}

function partitionOf({ partition }: OutgoingRecord): number | undefined {
  return whole('partition', partition, [0, PARTITION_MAX]);
}

function timestampOf({ timestampMs }: OutgoingRecord): number | undefined {
  return whole('timestampMs', timestampMs, [0, Number.MAX_SAFE_INTEGER]);
}

function pairs(headers: Headers | undefined): (readonly [string, Payload])[] {
  if (headers === undefined) return [];
  const found = Symbol.iterator in headers ? (headers as Iterable<readonly [string, Payload]>) : Object.entries(headers);
  return [...found].map(([name, value]) => [text('name of a header', name), value]);
}

/** A key, a value or a header's value, checked: the native module would tell no more than that it is none. */
export function payload(what: string, value: Payload | undefined): Payload {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || value instanceof Uint8Array) return value;
  throw new TypeError(`${what}: a Uint8Array, a string (as UTF-8) or null is wanted, and not ${typeof value}`);
}

/** The records of a batch as objects whose bytes are views. */
export function records(columns: Columns): ConsumedRecord[] {
  let start = 0;
  const view = (length: number): Buffer | null => {
    if (length < 0) return null;
    start += length;
    return columns.bytes.subarray(start - length, start);
  };
  let header = 0;
  const headersOf = (index: number) => {
    const first = header;
    header += columns.headers[index]!;
    const names = columns.headerNames.slice(first, header);
    return names.map((name, at) => [name, view(columns.headerLength[first + at]!)] as const);
  };
  return Array.from(columns.topic, (topic, index) => {
    const timestampMs = columns.timestampMs[index]!;
    return {
      topic: columns.topics[topic]!,
      partition: columns.partition[index]!,
      offset: columns.offset[index]!,
      key: view(columns.keyLength[index]!),
      value: view(columns.valueLength[index]!),
      headers: headersOf(index),
      timestampMs: Number.isNaN(timestampMs) ? null : timestampMs,
    };
  });
}
