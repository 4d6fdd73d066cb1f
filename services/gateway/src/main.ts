import { startTracing } from '@rms/net/tracing';
import { runMain } from '@rms/runtime/service';
import { readStartSettings } from '@rms/runtime/settings';
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
