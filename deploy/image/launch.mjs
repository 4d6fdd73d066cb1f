#!/usr/local/bin/node
// Runs the program that it is named like: /app/bin has a link per program to this file.
import { enableCompileCache } from 'node:module';
import { basename, join } from 'node:path';
import { programs } from './programs.mjs';

// Filled when the image is built (fill-compile-cache.mjs).
enableCompileCache(join(import.meta.dirname, '..', 'cache'));
const name = basename(process.argv[1] ?? '');
if (!Object.hasOwn(programs, name)) {
  throw new Error(`no program "${name}": expected one of ${Object.keys(programs).join(', ')}`);
}
await import(new URL(`../${programs[name]}`, import.meta.url).href);
