import nodeModule from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compileCache, ensureInstalled, ensurePages, orExit, root } from './prepare.mjs';

/**
 * Prepares the checkout, then runs a TypeScript program in this process, so that signals reach it directly.
 * `pages: false` leaves the dashboard's pages as they are.
 */
export async function runProgram(path, { pages = true } = {}) {
  await orExit(() => {
    ensureInstalled();
    if (pages) ensurePages();
  });
  // For this process, and through the environment for the services that it starts.
  nodeModule.enableCompileCache(compileCache);
  process.env.NODE_COMPILE_CACHE = compileCache;
  await import(pathToFileURL(join(root, path)).href);
}
