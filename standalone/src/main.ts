import { createLogger, readSettings, runMain } from '@rms/service';
import { startTracing } from '@rms/tracing';
import { createStandalone } from './standalone.ts';

// stdout is for the person who has started us, and shows the keys once. Logs go to stderr, and unless LOG_LEVEL says
// otherwise only what needs attention.
const quiet = 'warn';
const logAt =
  (level: string, levelFile = '') =>
  (name: string) =>
    createLogger({ name, level, levelFile, destination: process.stderr });

await runMain(
  () => {
    const settings = readSettings(process.env);
    return createStandalone(settings, {
      createLog: logAt(process.env.LOG_LEVEL ? settings.LOG_LEVEL : quiet, settings.LOG_LEVEL_FILE),
      say: (text) => void process.stdout.write(`${text}\n`),
    });
  },
  { log: logAt(quiet)('main'), tracing: (log) => startTracing({ serviceName: 'rms', log }) },
);
