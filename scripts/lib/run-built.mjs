import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { PrepareError, prepare, root } from './prepare.mjs';

/** Prepares the checkout, then runs a built program in this process, where signals reach it directly. */
export async function runBuilt(...path) {
  try {
    prepare();
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error;
    process.stderr.write(`rms: ${error.message}\n`);
    process.exit(1);
  }
  process.setSourceMapsEnabled(true);
  await import(pathToFileURL(join(root, ...path)).href);
}
