// npm start: runs all services in this process, on an embedded PostgreSQL.
import { runProgram } from './lib/run-program.mjs';

await runProgram('standalone/src/main.ts');
