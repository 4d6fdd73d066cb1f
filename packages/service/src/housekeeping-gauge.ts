import { Gauge, type Registry } from 'prom-client';

/** Shows when the housekeeping of a service has last got through; what it returns notes that it has. Begins with now. */
export function showHousekeeping(metrics: Registry): () => void {
  const gauge = new Gauge({
    name: 'rms_housekeeping_success_timestamp_seconds',
    help: 'When the housekeeping of the service last got through all that it has to do, in Unix time; at first its start.',
    registers: [metrics],
  });
  gauge.setToCurrentTime();
  return () => gauge.setToCurrentTime();
}
