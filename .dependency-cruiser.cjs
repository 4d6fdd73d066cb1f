/** Import rules. `npm run check` applies them to sources and tests; build output is excluded. */

const { Visitor } = require('@swc/core/Visitor.js');

// The visitor of swc does not know `using` declarations, whose parts are those of a `const`.
const { visitStatement } = Visitor.prototype;
Visitor.prototype.visitStatement = function visit(statement) {
  return statement.type === 'UsingDeclaration'
    ? this.visitVariableDeclaration({ ...statement, declarations: statement.decls })
    : visitStatement.call(this, statement);
};

/** Packages from the lowest to the highest. A package imports only packages before it. */
const packages = [
  'proto',
  'base',
  'async',
  'runtime',
  'net',
  'rpc',
  'bus',
  'reporting',
  'local-postgres',
  'postgres',
  'redis',
  'limits',
  'api',
  'testkit',
];

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Merge modules that import each other, or extract what they share into a third module.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-cycles-between-folders',
      comment:
        'Move the file that closes the cycle to the folder where it belongs. Files directly in src/ are exempt: they ' +
        'compose the folders, or are shared by them.',
      severity: 'error',
      scope: 'folder',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-imports-between-services',
      comment: 'Services call each other over gRPC only. Shared code belongs in a package.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'packages-do-not-import-services',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(services|cli|standalone)/' },
    },
    ...packages.map((name, index) => ({
      name: `${name}-imports-lower-packages`,
      comment: 'The list above has the order of the packages. Tests are exempt.',
      severity: 'error',
      from: { path: `^packages/${name}/src/` },
      to: { path: '^packages/', pathNot: `^packages/(${packages.slice(0, index + 1).join('|')})/` },
    })),
    {
      name: 'cli-uses-grpc',
      comment: 'The rms command imports only the migrations of a service. Its tests start services and call them.',
      severity: 'error',
      from: { path: '^cli/src/' },
      to: { path: '^(services/|standalone/)', pathNot: '^services/[^/]+/src/migrations\\.ts$' },
    },
    {
      name: 'the-client-imports-nothing',
      comment: 'Programs of users install the client alone, also in browsers.',
      severity: 'error',
      from: { path: '^clients/typescript/src/' },
      to: { pathNot: '^clients/typescript/src/' },
    },
    {
      name: 'standalone-is-not-imported',
      severity: 'error',
      from: { pathNot: '^standalone/' },
      to: { path: '^standalone/' },
    },
    {
      name: 'an-operation-is-one-file',
      comment:
        'A file of rpc/ holds an operation: validation, transaction, and the SQL that only it uses. Only the service ' +
        'imports it. Code that several operations use belongs in the folder of its noun; SQL, in *-queries.ts.',
      severity: 'error',
      from: { path: '^services/[^/]+/src/', pathNot: '^services/[^/]+/src/(service|user-services)\\.ts$' },
      to: {
        path: '^services/[^/]+/src/rpc/',
        pathNot: '^services/[^/]+/src/rpc/(handler|parts|join-workspace|change-in-batch)\\.ts$',
      },
    },
    {
      name: 'testkit-only-in-tests',
      severity: 'error',
      from: { path: '/src/', pathNot: '^packages/testkit/' },
      to: { path: '^packages/testkit/' },
    },
    {
      name: 'pages-import-types-of-the-dashboard',
      comment:
        'The pages share only the types of JSON documents and rules.ts with the services. Importing other code would ship ' +
        'it to the browser.',
      severity: 'error',
      from: { path: '^services/dashboard/web/src/' },
      to: {
        path: '^(services/dashboard/src|packages/api)/',
        pathNot: '^packages/api/src/rules\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'shared-pages-code-does-not-import-features',
      comment:
        'api/ calls the service, ui/ has components, layout/ renders the frame around the pages. router.tsx lists the features.',
      severity: 'error',
      from: { path: '^services/dashboard/web/src/(api|ui|layout)/' },
      to: { path: '^services/dashboard/web/src/features/' },
    },
    {
      name: 'no-cycles-between-folders-of-the-pages',
      comment: 'Move what two features share to a third one, or to ui/ or api/.',
      severity: 'error',
      scope: 'folder',
      from: { path: '^services/dashboard/web/src/' },
      to: { circular: true, path: '^services/dashboard/web/src/' },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)(dist|gen)/' },
    enhancedResolveOptions: {
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.json', '.d.ts'],
      exportsFields: ['exports'],
    },
  },
};
