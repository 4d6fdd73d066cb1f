import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { parseRedisUrl, readRedisAddress } from '../src/redis-address.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const read = (env: NodeJS.ProcessEnv) => readRedisAddress(readSettings(env), log);

test.each([
  [
    'rediss://rms:p%40ss@redis.example:7000/2?tls=',
    { host: 'redis.example', port: 7000, username: 'rms', password: 'p@ss', database: 2, isTls: true },
  ],
  ['redis://:secret@[::1]', { host: '::1', port: 6379, password: 'secret', database: 0, isTls: false }],
  ['redis://Primary_1?db=3&family=6', { host: 'Primary_1', port: 6379, database: 3, isTls: false, family: 6 }],
  [
    'rediss://default:x@cache-1.example.internal:6379/0?family=0&tls=true',
    { host: 'cache-1.example.internal', port: 6379, username: 'default', password: 'x', database: 0, isTls: true },
  ],
])('%s is parsed', (url, target) => {
  expect(parseRedisUrl(url)).toEqual(target);
});

test.each<[NodeJS.ProcessEnv, RegExp]>([
  [{ REDIS_URL: 'redis://:hunter2@a/b' }, /the path must be the number of a database$/],
  [{ REDIS_URL: 'redis://:hunter2@a/01' }, /the path must be the number of a database$/],
  [{ REDIS_URL: 'redis://:hunter2@a/1?db=2' }, /the path and the parameter "db" both name a database$/],
  [{ REDIS_URL: 'redis://:hunter2@a?family=4&family=6' }, /the parameter "family" is there several times$/],
  [{ REDIS_URL: 'redis://:hunter2@a?family=5' }, /family must be 4, 6 or 0 \(both\)$/],
  [{ REDIS_URL: 'redis://:hunter2@a?keyPrefix=x' }, /the parameter "keyPrefix" is not supported; remove it$/],
  [{ REDIS_URL: 'rediss://:hunter2@a?ssl_cert_reqs=none' }, /not supported; rediss:\/\/ verifies .* set REDIS_CA_FILE/],
  [{ REDIS_URL: 'redis://:hunter2@a?tls=true' }, /tls=true contradicts redis:\/\/$/],
  [{ REDIS_URL: 'redis://:hunter2@a?tls=' }, /tls=true contradicts redis:\/\/$/],
  [{ REDIS_URL: 'rediss://:hunter2@a?tls=false' }, /tls=false contradicts rediss:\/\/$/],
  [{ REDIS_URL: 'redis://:hunter2@a:6379', REDIS_SENTINELS: 'b:26379' }, /without a port; use .* redis:\/\/mymaster$/],
  [{ REDIS_URL: 'redis://:hunter2@a', REDIS_SENTINEL_PASSWORD: 'hunter2' }, /but REDIS_SENTINELS is not$/],
  [{ REDIS_URL: 'redis://:hunter2@a/1', REDIS_CLUSTER: 'true' }, /has only the database 0$/],
  [{ REDIS_URL: 'redis://a', REDIS_CLUSTER: 'true', REDIS_SENTINELS: 'b:1' }, /exclude each other$/],
])('%j is rejected, without the password', (env, message) => {
  expect(() => read(env)).toThrow(message);
  expect(() => read(env)).not.toThrow('hunter2');
});
