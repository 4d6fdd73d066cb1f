// node fill-compile-cache.mjs FOLDER: imports every source of the image's services once, so that the image contains
// their compiled form without types. A start then costs less CPU than with JavaScript files, even with a read-only root
// file system. Entries are valid for the path of each file and for this version of Node; other versions ignore them.
import { readdirSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { programs } from './programs.mjs';

const folder = process.argv[2];
enableCompileCache(join(folder, 'cache'));
const mains = Object.values(programs);
for (const main of mains) {
  const sources = main.slice(0, main.indexOf('/src/') + '/src'.length);
  for (const file of readdirSync(join(folder, sources), { recursive: true, encoding: 'utf8' })) {
    // A main file runs its program when it is imported.
    if (!file.endsWith('.ts') || /(^|-)main(-|\.)/.test(file)) continue;
    await import(pathToFileURL(join(folder, sources, file)).href);
  }
}
flushCompileCache();
