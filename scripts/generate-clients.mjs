// npm run generate: writes the generated parts of the clients from the OpenAPI document.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedClients } from './lib/generated-clients.mjs';
import { root } from './lib/prepare.mjs';

for (const [file, text] of await generatedClients()) writeFileSync(join(root, file), text);
