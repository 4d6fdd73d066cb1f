import { openApiDocument } from './document.ts';

// For linters: `node dist/openapi/print.js > openapi.json`.
process.stdout.write(`${JSON.stringify(openApiDocument(), null, 2)}\n`);
