import { createLogger } from '@rms/runtime/logging';
import { runMain } from '@rms/runtime/service';
import { describeSettings, readStartSettings } from '@rms/runtime/settings';
import { createSeparateServices } from './separate-services.ts';

const log = createLogger({ name: 'main', level: 'warn', destination: process.stderr });

await runMain(
  () =>
    createSeparateServices(readStartSettings(process.env), {
      log,
      say: (text) => void process.stdout.write(`${text}\n`),
      shownSettings: describeSettings(process.env),
    }),
  { log },
);
