const projects = {
  errors: 'packages/errors',
  ids: 'packages/ids',
  paging: 'packages/paging',
  'api-key': 'packages/api-key',
  secrets: 'packages/secrets',
  signature: 'packages/signature',
  service: 'packages/service',
  rpc: 'packages/rpc',
  db: 'packages/db',
  'embedded-postgres': 'packages/embedded-postgres',
  bus: 'packages/bus',
  outbox: 'packages/outbox',
  audit: 'packages/audit',
  roles: 'packages/roles',
  limiter: 'packages/limiter',
  testkit: 'packages/testkit',
  auth: 'services/auth',
  resources: 'services/resources',
  webhooks: 'services/webhooks',
  gateway: 'services/gateway',
  dashboard: 'services/dashboard',
  cli: 'cli',
  standalone: 'standalone',
  api: 'test/api',
  browser: 'test/browser',
  faults: 'test/faults',
  observability: 'test/observability',
};

/** @type {import('jest').Config} */
export default {
  projects: Object.entries(projects).map(([displayName, folder]) => ({
    displayName,
    rootDir: import.meta.dirname,
    roots: [`<rootDir>/${folder}`],
    testEnvironment: '<rootDir>/test/jest-environment.cjs',
    testMatch: ['**/*.test.ts'],
    extensionsToTreatAsEsm: ['.ts'],
    transform: {
      '\\.ts$': [
        '@swc/jest',
        { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' }, sourceMaps: 'inline' },
      ],
    },
    testEnvironmentOptions: { customExportConditions: ['source', 'node', 'node-addons'] },
  })),
  testTimeout: 60_000,
};
