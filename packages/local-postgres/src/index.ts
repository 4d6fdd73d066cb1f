export { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';
export { type PostgresServer, preparePostgres, stopServer } from './postgres-server.ts';
export { stopLeftover } from './postmaster.ts';
