import { openApiDocument } from './document.ts';

// Prints the OpenAPI document for linters: `node src/openapi/print-main.ts > openapi.json`.
process.stdout.write(`${JSON.stringify(openApiDocument(), null, 2)}\n`);
