export { addLatency, latencyBoundsMs, latencyQuantile, noLatencies } from './latency.ts';
export { type Report, type Tally, UsageReporter, type UsageReporterOptions } from './usage-reporter.ts';
