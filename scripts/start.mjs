// npm start: the whole service in this process, on an embedded PostgreSQL.
import { runBuilt } from './lib/run-built.mjs';

await runBuilt('standalone', 'dist', 'main.js');
