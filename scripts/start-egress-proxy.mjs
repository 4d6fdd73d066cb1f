// npm run start:egress-proxy: a proxy for webhooks (WEBHOOK_PROXY_URL) that connects only to permitted addresses.
import { runProgram } from './lib/run-program.mjs';

await runProgram('services/egress-proxy/src/main.ts', { pages: false });
