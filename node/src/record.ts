import type { Columns, Outgoing } from './native';
import type { ConsumedRecord, Headers, OutgoingRecord, Payload } from './types';

/** A record as the native module takes it. */
export function outgoing(record: OutgoingRecord): Outgoing {
  const headers = pairs(record.headers);
  return {
    topic: record.topic,
    partition: record.partition ?? undefined,
    key: payload('key', record.key) ?? undefined,
    value: payload('value', record.value) ?? undefined,
    timestampMs: record.timestampMs ?? undefined,
    headerNames: headers.map(([name]) => name),
    headerValues: headers.map(([name, value]) => payload(`header ${name}`, value)),
  };
}

function pairs(headers: Headers | undefined): (readonly [string, Payload])[] {
  if (headers === undefined) return [];
  return Symbol.iterator in headers ? [...(headers as Iterable<readonly [string, Payload]>)] : Object.entries(headers);
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
