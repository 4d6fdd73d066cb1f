// npm run start:services: every service in a process of its own, on PostgreSQL, Redis and Kafka that are there already.
import { runBuilt } from './lib/run-built.mjs';

await runBuilt('standalone', 'dist', 'main-services.js');
