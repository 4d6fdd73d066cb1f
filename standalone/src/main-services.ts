import { createLogger, readSettings, runMain } from '@rms/service';
import { createSeparateServices } from './separate-services.ts';

const log = createLogger({ name: 'main', level: 'warn', destination: process.stderr });

await runMain(
  () =>
    createSeparateServices(readSettings(process.env), { log, say: (text) => void process.stdout.write(`${text}\n`) }),
  { log },
);
