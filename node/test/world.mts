/** Two real clusters, which `cargo xtask languages node` starts and names in the environment. */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';

import type { Config, Coordinator } from 'gtc';
import kafkajs, { type KafkaMessage } from 'kafkajs';

export const PATIENCE_MS = 60_000;
const ENVIRONMENT = 'GTC_TEST_CLUSTERS';
/** What a reader reads up to; a test's own records are others. */
const END = 'the end of what was written before';
let worlds = 0;

/** The directory of the installed package. */
export const PACKAGE = dirname(createRequire(import.meta.url).resolve('gtc/package.json'));

function clusters(): Record<string, string> {
  const named = process.env[ENVIRONMENT];
  if (!named) throw new Error(`${ENVIRONMENT} names no clusters: run \`cargo xtask languages node\`, or set it to eu=HOST:PORT us=HOST:PORT`);
  return Object.fromEntries(named.split(' ').map((pair) => pair.split('=', 2)));
}

/** What a program printed, and how it ended. */
export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The clusters `eu` and `us`, and names that no other test has. */
export class World {
  readonly clusters = clusters();
  readonly directory = temporary('gtc-node-');
  readonly name = `node-${process.pid}-${++worlds}`;
  readonly #kafka = new Map<string, kafkajs.Kafka>();

  config(limits?: Config['coordinator']['limits']): Config {
    const participants = Object.entries(this.clusters).map(([name, bootstrap]) => {
      return [name, { kind: 'kafka', slots: 4, 'bootstrap.servers': bootstrap }] as const;
    });
    const coordinator = { id: this.name, log: join(this.directory, 'log'), limits };
    return { coordinator, participants: Object.fromEntries(participants) };
  }

  /** The same configuration as a file. */
  configFile(): string {
    const lines = ['[coordinator]', `id = "${this.name}"`, 'log = "log"'];
    for (const [name, bootstrap] of Object.entries(this.clusters)) {
      lines.push(`[participants.${name}]`, 'kind = "kafka"', 'slots = 4', `bootstrap.servers = "${bootstrap}"`);
    }
    const path = join(this.directory, 'gtc.toml');
    writeFileSync(path, lines.join('\n'));
    return path;
  }

  kafka(cluster: string): kafkajs.Kafka {
    const known = this.#kafka.get(cluster);
    if (known) return known;
    const made = new kafkajs.Kafka({ brokers: [this.clusters[cluster]!], logLevel: kafkajs.logLevel.NOTHING });
    this.#kafka.set(cluster, made);
    return made;
  }

  /** Makes a topic with one partition on both clusters. */
  async topic(suffix = ''): Promise<string> {
    const topic = this.name + suffix;
    for (const cluster of Object.keys(this.clusters)) {
      const admin = this.kafka(cluster).admin();
      await admin.connect();
      await admin.createTopics({ topics: [{ topic, numPartitions: 1, replicationFactor: 1 }], waitForLeaders: true });
      await admin.disconnect();
    }
    return topic;
  }

  /** Writes records outside of any transaction, and gives back the offset of the first. */
  async write(cluster: string, topic: string, values: string[]): Promise<string | undefined> {
    const producer = this.kafka(cluster).producer();
    await producer.connect();
    const [written] = await producer.send({ topic, messages: values.map((value) => ({ value })) });
    await producer.disconnect();
    return written?.baseOffset;
  }

  /** The values that a read_committed reader sees. */
  async committed(cluster: string, topic: string): Promise<(string | null)[]> {
    const found = await this.messages(cluster, topic);
    return found.map((message) => message.value && String(message.value));
  }

  /** The records that a read_committed reader sees, up to one that is written now. */
  async messages(cluster: string, topic: string): Promise<KafkaMessage[]> {
    const end = await this.write(cluster, topic, [END]);
    const consumer = this.kafka(cluster).consumer({ groupId: `${this.name}-${++worlds}` });
    const found: KafkaMessage[] = [];
    try {
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: true });
      await new Promise<void>((resolve, reject) => {
        const late = () => reject(new Error(`${cluster} ${topic}: the last stable offset is stuck`));
        const timer = setTimeout(late, PATIENCE_MS);
        const eachMessage = async ({ message }: kafkajs.EachMessagePayload) => {
          if (String(message.value) !== END) found.push(message);
          if (message.offset !== end) return;
          clearTimeout(timer);
          resolve();
        };
        consumer.run({ eachMessage }).catch(reject);
      });
    } finally {
      await consumer.disconnect();
    }
    return found;
  }

  /**
   * As `committed`, with a consumer of gtc's: where transactions overlap in a partition, KafkaJS shows records of aborted
   * ones. It takes the order of their ends, in which the cluster lists them, for that of their beginnings.
   */
  async committedOfMany(coordinator: Coordinator, cluster: string, topic: string): Promise<string[]> {
    await this.write(cluster, topic, [END]);
    const consumer = await coordinator.consumer(cluster, { group: `${this.name}-${++worlds}`, topics: topic });
    const found: string[] = [];
    for await (const batch of consumer) {
      found.push(...batch.records.map(({ value }) => String(value)));
      if (found.at(-1) === END) break;
      await coordinator.transact((txn) => txn.sendOffsets(batch));
    }
    await consumer.close();
    return found.slice(0, -1);
  }

  /** Runs a program of the samples of the package. */
  sample(name: string, args: string[], environment: NodeJS.ProcessEnv = {}): Promise<Ran> {
    return run(process.execPath, [join(PACKAGE, 'samples', name), ...args], environment);
  }
}

/** A directory that goes away with this process: a decision log alone takes 64 MB of it. */
export function temporary(prefix: string): string {
  const directory = mkdtempSync(join(tmpdir(), prefix));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Runs a program to its end. */
export function run(program: string, args: string[], environment: NodeJS.ProcessEnv = {}, cwd?: string): Promise<Ran> {
  const child = spawn(program, args, { env: { ...process.env, ...environment }, cwd, timeout: 2 * PATIENCE_MS });
  const printed = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (printed.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (printed.stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ ...printed, code, signal }));
  });
}

/** Closes what a test has opened, whatever came of the test. */
export function closing<T extends { close(): Promise<void> }>(test: TestContext, opened: T): T {
  test.after(() => opened.close());
  return opened;
}
