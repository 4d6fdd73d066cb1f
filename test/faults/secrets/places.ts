import { createKafkaBus } from '@rms/bus';
import { createLogger } from '@rms/service';
import { type Network, waitUntil } from '@rms/testkit';
import type { Client } from 'pg';
import { askRedis } from '../ask-redis.ts';

/** Where something was looked for, and what stands there. */
export type Place = readonly [name: string, text: string];

/** Every column of every table, bytes also as what they say. */
export async function placesInDatabase(db: Client): Promise<Place[]> {
  const { rows: columns } = await db.query<{ name: string; column: string; type: string }>(
    `select table_schema || '.' || table_name as name, column_name as column, data_type as type
       from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
  );
  const places: Place[] = [];
  for (const { name, column, type } of columns) {
    const { rows } = await db.query<{ text: string }>(`select coalesce("${column}"::text, '') as text from ${name}`);
    const texts = rows.map(({ text }) => text);
    const decoded = type === 'bytea' ? texts.map((text) => Buffer.from(text.slice(2), 'hex').toString('latin1')) : [];
    places.push([`${name}.${column}`, [...texts, ...decoded].join('\n')]);
  }
  return places;
}

const readers: Readonly<Record<string, (key: string) => string>> = {
  string: (key) => `GET ${key}`,
  hash: (key) => `HGETALL ${key}`,
  set: (key) => `SMEMBERS ${key}`,
  zset: (key) => `ZRANGE ${key} 0 -1`,
  list: (key) => `LRANGE ${key} 0 -1`,
};

/** Every key, with its value. */
export async function placesInRedis(url: string): Promise<Place[]> {
  const keys = [...(await askRedis(url, 'KEYS *')).matchAll(/^(?![$*+])(.+)\r$/gm)].map(([, key = '']) => key);
  return Promise.all(
    keys.map(async (key): Promise<Place> => {
      const type = /^\+(\w+)/.exec(await askRedis(url, `TYPE ${key}`))?.[1] ?? '';
      // A key that has just expired has no type.
      return [`Redis key ${key}`, `${key}\n${type === 'none' ? '' : await askRedis(url, commandFor(type, key))}`];
    }),
  );
}

function commandFor(type: string, key: string): string {
  const command = readers[type];
  if (!command) throw new Error(`no reader of the Redis type ${type} of ${key}`);
  return command(key);
}

/** Every record of the topic of events, once there are at least so many. */
export async function placesInKafka({ env }: Network, atLeast: number): Promise<Place[]> {
  const bus = createKafkaBus({
    brokers: (env.KAFKA_BROKERS ?? '').split(','),
    clientId: 'reader',
    log: createLogger({ name: 'reader', level: 'silent' }),
  });
  const topic = `${env.KAFKA_PREFIX}.resource-events.v1`;
  const places: Place[] = [];
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
            places.push([`Kafka record of ${key}`, text]);
          }
        },
      },
      stop.signal,
    );
    await waitUntil(() => places.length >= atLeast, { what: `${atLeast} records of ${topic}`, timeoutMs: 30_000 });
    stop.abort();
    await reading;
  } finally {
    await bus.stop();
  }
  return places;
}
