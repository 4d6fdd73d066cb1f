import { startTracing } from '@rms/net/tracing';
import { createLogger, readableLines } from '@rms/runtime/logging';
import { runMain } from '@rms/runtime/service';
import { describeSettings, readStartSettings } from '@rms/runtime/settings';
import { createStandalone } from './standalone.ts';

// stdout shows the startup message with the keys. Logs go to stderr, and by default only warnings and errors. On a
// terminal they are text instead of JSON.
const quiet = 'warn';
const destination = process.stderr.isTTY ? readableLines(process.stderr) : process.stderr;
const logAt =
  (level: string, levelFile = '') =>
  (name: string) =>
    createLogger({ name, level, levelFile, destination });

await runMain(
  () => {
    const settings = readStartSettings(process.env);
    return createStandalone(settings, {
      createLog: logAt(process.env.LOG_LEVEL ? settings.LOG_LEVEL : quiet, settings.LOG_LEVEL_FILE),
      say: (text) => void process.stdout.write(`${text}\n`),
      shownSettings: describeSettings(process.env),
    });
  },
  { log: logAt(quiet)('main'), tracing: (log) => startTracing({ serviceName: 'rms', log }) },
);
