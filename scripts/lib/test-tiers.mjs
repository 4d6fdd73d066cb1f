// Which tier a test belongs to is decided by its folder (test/projects.mjs). Tests of the fast tier need only Node and
// npm, and start nothing but the embedded PostgreSQL of the run, with the exceptions below.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Exports of the test kit that start or need Redis, Kafka, Java, a browser, a mounted disk or several processes. */
const complete = [
  'describeWith',
  'chromiumPath',
  'startKafka',
  'restartWithData',
  'startRedis',
  'startRedisCluster',
  'startRedisSentinels',
  'startNetwork',
  'mountSmallDisk',
];

/** Functions that start a process tree of `npm start`, each with the only fast files that may call it. */
const startsTree = {
  startStandalone: [
    'test/api/standalone.test.ts',
    'test/api/standalone-events.test.ts',
    'test/api/standalone-guarded.test.ts',
    'test/api/standalone-crash.test.ts',
    'test/api/standalone-rms.test.ts',
    'standalone/test/ended-deliveries.test.ts',
  ],
  npmStart: ['standalone/test/npm-start.test.ts'],
};

/**
 * Returns one line per import of a fast test that belongs to the complete tier. `files`: paths of the TypeScript files
 * in the test folders, `suites`: names of the complete tier's suites.
 */
export function tierViolations(root, files, suites) {
  const inSuite = new RegExp(`(^|/)test/(${suites.join('|')}|cluster|bench)/`);
  const suiteImport = new RegExp(`^\\.{1,2}/(.*/)?(${suites.join('|')})/`);
  return files
    .filter((file) => !inSuite.test(file))
    .flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8');
      const imports = [...source.matchAll(/^import\s+(?:type\s+)?(?:\{([^}]*)\}\s+from\s+)?'([^']+)'/gm)];
      return imports.flatMap(([, names = '', from]) => {
        const imported = names.split(',').map((name) => name.trim().replace(/^type /, ''));
        const wrong = imported.filter(
          (name) => complete.includes(name) || (name in startsTree && !startsTree[name].includes(file)),
        );
        if (from === 'playwright-core' || suiteImport.test(from)) wrong.push(from);
        return wrong.map((name) => `${file}: ${name} belongs to the complete tier (test/${suites.join(', test/')})`);
      });
    });
}
