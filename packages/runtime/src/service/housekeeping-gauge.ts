import { Gauge, type Metrics } from '../metrics/index.ts';

/**
 * Registers a gauge for the last successful housekeeping run, and returns a function that sets it to the current time.
 * The initial value is the service's start.
 */
export function showHousekeeping(metrics: Metrics): () => void {
  const gauge = new Gauge({
    name: 'rms_housekeeping_success_timestamp_seconds',
    help: 'Time of the last successful housekeeping run of the service, in Unix time; initially the start of the service.',
    registers: [metrics],
  });
  gauge.setToCurrentTime();
  return () => gauge.setToCurrentTime();
}
