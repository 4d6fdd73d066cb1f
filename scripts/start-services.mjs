// npm run start:services: starts one process per service, on existing PostgreSQL, Redis and Kafka.
import { runProgram } from './lib/run-program.mjs';

await runProgram('standalone/src/main-services.ts');
