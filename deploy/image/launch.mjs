#!/usr/local/bin/node
// Runs the program after which it is called: /app/bin has a link of each name to this file.
import { basename } from 'node:path';
import { programs } from './programs.mjs';

process.setSourceMapsEnabled(true);
const name = basename(process.argv[1] ?? '');
if (!Object.hasOwn(programs, name)) throw new Error(`"${name}" is none of ${Object.keys(programs).join(', ')}`);
await import(new URL(`../${programs[name]}`, import.meta.url));
