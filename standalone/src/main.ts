import { createLogger, readSettings, runMain } from '@rms/service';
import { createStandalone } from './standalone.ts';

// stdout is for the person who has started us, and shows the keys once. Logs go to stderr, and unless LOG_LEVEL says
// otherwise only what needs attention.
const level = process.env.LOG_LEVEL || 'warn';
const createLog = (name: string) => createLogger({ name, level, destination: process.stderr });

await runMain(() => {
  const settings = readSettings(process.env);
  return createStandalone(settings, { createLog, say: (text) => void process.stdout.write(`${text}\n`) });
}, createLog('main'));
