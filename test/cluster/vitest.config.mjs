import { defineConfig } from 'vitest/config';
import root from '../../vitest.config.mjs';

const { projects, ...test } = root.test;

/** Separate from the other suites: needs a cluster. Run by `npm run test:cluster`. */
export default defineConfig({ ...root, test: { ...test, name: 'cluster', include: ['test/cluster/**/*.test.ts'] } });
