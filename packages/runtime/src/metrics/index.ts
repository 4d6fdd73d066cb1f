export { type AddGauge, type GatherOptions, gatherGauges } from './gathered-gauges.ts';
export { Counter, createMetrics, Gauge, Histogram, type Metrics } from './metrics.ts';
