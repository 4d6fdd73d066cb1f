import { defineConfig } from 'vitest/config';
export default defineConfig({
  test: {
    globals: true,
    pool: 'forks',
    isolate: false,
    maxWorkers: 4,
    testTimeout: 180000,
    hookTimeout: 180000,
    teardownTimeout: 60000,
    sequence: { hooks: 'list' },
    experimental: { viteModuleRunner: false },
    include: ['services/auth/test/**/*.test.ts'],
    exclude: ['**/test/stores/**', '**/test/faults/**', '**/test/browser/**', '**/test/traces/**', '**/node_modules/**'],
  },
});
