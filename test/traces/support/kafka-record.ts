import { randomUUID } from 'node:crypto';
import { disposable } from '@rms/testkit';
import { Kafka, logLevel } from 'kafkajs';

/** Returns the first record of the event topic with this X-Request-ID. */
export async function recordWith(
  env: Readonly<Record<string, string>>,
  requestId: string,
): Promise<{
  readonly partition: number;
  readonly offset: string;
  readonly headers: Readonly<Record<string, string>>;
}> {
  const kafka = new Kafka({ brokers: (env.KAFKA_BROKERS ?? '').split(','), logLevel: logLevel.NOTHING });
  await using consumer = disposable(kafka.consumer({ groupId: `test-${randomUUID()}` }), 'disconnect');
  await consumer.connect();
  await consumer.subscribe({ topic: `${env.KAFKA_PREFIX}.resource-events.v1`, fromBeginning: true });
  return await new Promise((resolve, reject) => {
    consumer
      .run({
        eachMessage: async ({ partition, message }) => {
          const headers = Object.fromEntries(
            Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]),
          );
          if (headers['x-request-id'] === requestId) resolve({ partition, offset: message.offset, headers });
        },
      })
      .catch(reject);
  });
}
