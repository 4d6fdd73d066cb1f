import { randomBytes } from 'node:crypto';
import { freePort, type TestDatabase, testServer } from '@rms/testkit';
import type { Installation } from '../npm-start.ts';

/** Returns the environment of `npm run start:services` with the stores of this test run. */
export async function servicesEnv({ env }: Installation, database: TestDatabase): Promise<NodeJS.ProcessEnv> {
  return {
    ...env,
    DATABASE_URL: database.url,
    REDIS_URL: testServer('redis'),
    KAFKA_BROKERS: testServer('kafka'),
    KAFKA_PREFIX: `test-${randomBytes(6).toString('hex')}`,
    AUTH_ADDRESS: `127.0.0.1:${await freePort()}`,
    RESOURCES_ADDRESS: `127.0.0.1:${await freePort()}`,
    WEBHOOKS_ADDRESS: `127.0.0.1:${await freePort()}`,
    ALERTS_ADDRESS: `127.0.0.1:${await freePort()}`,
  };
}
