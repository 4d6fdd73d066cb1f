/** Who may import whom. `npm run check` reads sources and tests; build output is left out. */
/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Modules that need one another are one module, or have a third between them.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'services-are-apart',
      comment: 'Services talk gRPC. What two of them share is a package.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'packages-know-no-service',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(services|cli|standalone)/' },
    },
    {
      name: 'cli-talks-grpc',
      comment: 'Of a service the rms command needs the migrations only; its tests start services to talk to.',
      severity: 'error',
      from: { path: '^cli/src/' },
      to: { path: '^(services/|standalone/)', pathNot: '^services/[^/]+/src/migrations\\.ts$' },
    },
    {
      name: 'nobody-needs-standalone',
      severity: 'error',
      from: { pathNot: '^standalone/' },
      to: { path: '^standalone/' },
    },
    {
      name: 'rpc-holds-no-sql',
      comment: 'rpc/ and routes/ say what happens; *-queries.ts and the packages know the database.',
      severity: 'error',
      from: { path: '^services/[^/]+/src/(rpc|routes)/' },
      to: { path: '^node_modules/pg/' },
    },
    {
      name: 'testkit-is-for-tests',
      severity: 'error',
      from: { path: '/src/', pathNot: '^packages/testkit/' },
      to: { path: '^packages/testkit/' },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    // The pages (JSX) are held to their place by their own tsconfig.
    exclude: { path: '(^|/)(dist|gen)/|^services/dashboard/web/src/' },
    enhancedResolveOptions: {
      conditionNames: ['source', 'import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.json', '.d.ts'],
      exportsFields: ['exports'],
    },
  },
};
