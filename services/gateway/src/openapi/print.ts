import { openApiDocument } from './document.ts';

// For the linter: the document as a file would hold it.
process.stdout.write(`${JSON.stringify(openApiDocument(), null, 2)}\n`);
