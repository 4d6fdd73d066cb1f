// npm run start:egress-proxy: a proxy that guards what it dials, for webhooks with WEBHOOK_PROXY_URL.
import { runBuilt } from './lib/run-built.mjs';

await runBuilt('services', 'webhooks', 'dist', 'egress-proxy-main.js');
