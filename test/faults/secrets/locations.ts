import { createKafkaBus } from '@rms/bus';
import { createLogger } from '@rms/runtime/logging';
import { type Network, waitUntil } from '@rms/testkit';
import type { Client } from 'pg';
import { queryRedis } from '../query-redis.ts';

/** A location that was searched, and its content. */
export type Location = readonly [name: string, text: string];

/** Returns every column of every table; for byte columns, also the decoded bytes. */
export async function locationsInDatabase(db: Client): Promise<Location[]> {
  const { rows: columns } = await db.query<{ name: string; column: string; type: string }>(
    `select table_schema || '.' || table_name as name, column_name as column, data_type as type
       from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  );
  const locations: Location[] = [];
  for (const { name, column, type } of columns) {
    const { rows } = await db.query<{ text: string }>(`select coalesce("${column}"::text, '') as text from ${name}`);
    const texts = rows.map(({ text }) => text);
    const decoded = type === 'bytea' ? texts.map((text) => Buffer.from(text.slice(2), 'hex').toString('latin1')) : [];
    locations.push([`${name}.${column}`, [...texts, ...decoded].join('\n')]);
  }
  return locations;
}

const readers: Readonly<Record<string, (key: string) => string>> = {
  string: (key) => `GET ${key}`,
  hash: (key) => `HGETALL ${key}`,
  set: (key) => `SMEMBERS ${key}`,
  zset: (key) => `ZRANGE ${key} 0 -1`,
  list: (key) => `LRANGE ${key} 0 -1`,
};

/** Returns every key with its value. */
export async function locationsInRedis(url: string): Promise<Location[]> {
  const keys = [...(await queryRedis(url, 'KEYS *')).matchAll(/^(?![$*+])(.+)\r$/gm)].map(([, key = '']) => key);
  return Promise.all(
    keys.map(async (key): Promise<Location> => {
      const type = /^\+(\w+)/.exec(await queryRedis(url, `TYPE ${key}`))?.[1] ?? '';
      // A key that has just expired has no type.
      return [`Redis key ${key}`, `${key}\n${type === 'none' ? '' : await queryRedis(url, commandFor(type, key))}`];
    }),
  );
}

function commandFor(type: string, key: string): string {
  const command = readers[type];
  if (!command) throw new Error(`no reader for the Redis type ${type} of ${key}`);
  return command(key);
}

/** Returns the event topic's records, once there are at least `atLeast`. */
export async function locationsInKafka({ env }: Network, atLeast: number): Promise<Location[]> {
  const bus = createKafkaBus({
    brokers: (env.KAFKA_BROKERS ?? '').split(','),
    clientId: 'reader',
    log: createLogger({ name: 'reader', level: 'silent' }),
  });
  const topic = `${env.KAFKA_PREFIX}.resource-events.v1`;
  const locations: Location[] = [];
  const stop = new AbortController();
  try {
    await bus.start([]);
    const reading = bus.consume(
      {
        topic,
        group: `${env.KAFKA_PREFIX}.reader`,
        async onBatch(records) {
          for (const { key, value, headers } of records) {
            const text = `${key}\n${JSON.stringify(headers)}\n${Buffer.from(value).toString('latin1')}`;
            locations.push([`Kafka record of ${key}`, text]);
          }
        },
      },
      stop.signal,
    );
    await waitUntil(() => locations.length >= atLeast, { what: `${atLeast} records of ${topic}` });
    stop.abort();
    await reading;
  } finally {
    await bus.stop();
  }
  return locations;
}
