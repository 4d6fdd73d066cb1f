import { runMain } from '@rms/service';
import { readStartSettings } from '@rms/settings';
import { startTracing } from '@rms/tracing';
import { readGatewayConfig } from './config.ts';
import { createGatewayContext } from './context.ts';
import { createGateway } from './service.ts';

await runMain(
  () => {
    const settings = readStartSettings(process.env);
    return createGateway(readGatewayConfig(settings), createGatewayContext(settings));
  },
  { tracing: (log) => startTracing({ serviceName: 'rms-gateway', log }) },
);
