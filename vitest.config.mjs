import { defineConfig } from 'vitest/config';
import { projects, statementFolders, suites } from './test/projects.mjs';
import { SlowestFirst } from './test/slowest-first.mjs';

/** Files of the fast tier that run in a process of their own, each with the reason. */
const isolated = [
  // Compares kafkajs before and after the first client of the process.
  'packages/bus/test/kafka-idle.test.ts',
];

/** Projects of this run (scripts/lib/test-run.mjs); all of them if vitest is started by an editor. */
const chosen = process.env.TEST_PROJECTS?.split(' ') ?? [...projects.keys()];
const fast = chosen.filter((name) => !suites.includes(name)).flatMap((name) => projects.get(name));

/**
 * Whether tests record their SQL statements in the folder STATEMENTS_DIR. scripts/test-all.mjs and
 * scripts/test-statements.mjs set this variable.
 */
const recordStatements = Boolean(process.env.STATEMENTS_DIR);
const isRecorded = (folder) => recordStatements && statementFolders.includes(folder);

/** Option --sequence.shuffle.files, which has no effect if a sequencer is set. */
const isShuffled = process.argv.some((arg) => arg.startsWith('--sequence.shuffle'));

const testFiles = (folders) => folders.map((folder) => `${folder}/**/*.test.ts`);
const ignored = ['**/node_modules/**', '**/dist/**'];
const inSuites = suites.map((suite) => `**/test/${suite}/**`);

/** Files of the fast tier share the modules of their worker, unless they are listed as isolated. */
const fastProject = (name, folders, options = {}) => ({
  extends: true,
  test: { name, include: testFiles(folders), exclude: [...ignored, ...inSuites, ...isolated], ...options },
});

export default defineConfig({
  // The conditions of Node alone, so that tests load the same files as the services.
  ssr: { resolve: { conditions: [] } },
  test: {
    globals: true,
    pool: 'forks',
    isolate: false,
    // Node loads the modules and strips the types, as in production.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { hooks: 'list', ...(isShuffled ? {} : { sequencer: SlowestFirst }) },
    setupFiles: ['test/late-rejections.ts'],
    // Tests wait for conditions, so on a loaded machine they are slower but do not fail.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    projects: [
      fastProject(
        'fast',
        fast.filter((folder) => !isRecorded(folder)),
      ),
      fastProject('recorded', fast.filter(isRecorded), { setupFiles: ['test/statements/record.ts'] }),
      {
        extends: true,
        test: {
          name: 'isolated',
          include: isolated.filter((file) => fast.some((folder) => file.startsWith(`${folder}/`))),
          isolate: true,
        },
      },
      ...suites
        .filter((suite) => chosen.includes(suite))
        .map((suite) => ({
          extends: true,
          test: { name: suite, include: testFiles(projects.get(suite)), exclude: ignored, isolate: true },
        })),
    ].filter(({ test: { include } }) => include.length > 0),
  },
});
