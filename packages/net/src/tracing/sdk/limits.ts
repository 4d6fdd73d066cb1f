import type { BatchSpanProcessorOptions, SpanLimits } from '@opentelemetry/sdk-trace';

type BatchOptions = Omit<BatchSpanProcessorOptions, 'exporter'>;

/** Minimum of a number and the variables that can set it; the first variable that is set applies. */
type Setting = readonly [least: number, ...names: string[]];

const batch = {
  scheduledDelayMillis: [0, 'OTEL_BSP_SCHEDULE_DELAY'],
  exportTimeoutMillis: [0, 'OTEL_BSP_EXPORT_TIMEOUT'],
  maxQueueSize: [1, 'OTEL_BSP_MAX_QUEUE_SIZE'],
  maxExportBatchSize: [1, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE'],
} as const satisfies { [Name in keyof BatchOptions]: Setting };

const limits = {
  attributeValueLengthLimit: [0, 'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT', 'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'],
  attributeCountLimit: [0, 'OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', 'OTEL_ATTRIBUTE_COUNT_LIMIT'],
  linkCountLimit: [0, 'OTEL_SPAN_LINK_COUNT_LIMIT'],
} as const satisfies { [Name in keyof SpanLimits]: Setting };

/**
 * Reads the batch processor's options from OTEL_BSP_*, which the SDK does not read. Throws an error that identifies the
 * invalid variable.
 */
export function batchOptionsOf(env: NodeJS.ProcessEnv): BatchOptions {
  return numbersOf(env, batch);
}

/**
 * Reads a span's limits from the standard variables; our spans have no events. Throws like {@link batchOptionsOf}.
 */
export function spanLimitsOf(env: NodeJS.ProcessEnv): SpanLimits {
  return numbersOf(env, limits);
}

function numbersOf<Name extends string>(
  env: NodeJS.ProcessEnv,
  settings: Record<Name, Setting>,
): Partial<Record<Name, number>> {
  const numbers: Partial<Record<Name, number>> = {};
  for (const name of Object.keys(settings) as Name[]) {
    const [least, ...variables] = settings[name];
    const variable = variables.find((candidate) => env[candidate]?.trim());
    if (variable === undefined) continue;
    const text = env[variable] ?? '';
    const number = Number(text);
    if (!Number.isSafeInteger(number) || number < least) {
      throw new Error(`${variable}: "${text}" is not a whole number of at least ${least}`);
    }
    numbers[name] = number;
  }
  return numbers;
}
