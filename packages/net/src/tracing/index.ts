export type { Tracing } from './sdk/sdk-options.ts';
export { type StartTracingOptions, startTracing } from './start-tracing.ts';
