export { describeWith, type TestServer, testServer } from './describe-with.ts';
export { freePort } from './free-port.ts';
export { type ReceivedRequest, type Receiver, startReceiver } from './receiver.ts';
export { type Kafka, startKafka } from './servers/kafka/kafka.ts';
export { type PostgresServer, startPostgres } from './servers/postgres.ts';
export { type RedisServer, startRedis } from './servers/redis.ts';
export { type TestDatabase, testDatabase } from './test-database.ts';
export { waitUntil } from './wait-until.ts';
