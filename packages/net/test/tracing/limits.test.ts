import { batchOptionsOf, spanLimitsOf } from '../../src/tracing/sdk/limits.ts';

describe('Limits of the SDK from OTEL_*', () => {
  test('without variables, the defaults of the SDK apply', () => {
    expect(batchOptionsOf({ OTEL_BSP_SCHEDULE_DELAY: ' ' })).toEqual({});
    expect(spanLimitsOf({})).toEqual({});
  });

  test('OTEL_BSP_* configures batches', () => {
    const env = {
      OTEL_BSP_SCHEDULE_DELAY: '50',
      OTEL_BSP_EXPORT_TIMEOUT: '1000',
      OTEL_BSP_MAX_QUEUE_SIZE: '4096',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '256',
    };
    expect(batchOptionsOf(env)).toEqual({
      scheduledDelayMillis: 50,
      exportTimeoutMillis: 1000,
      maxQueueSize: 4096,
      maxExportBatchSize: 256,
    });
  });

  test('a span limit takes precedence over the general limit', () => {
    const env = {
      OTEL_ATTRIBUTE_COUNT_LIMIT: '64',
      OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '32',
      OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '200',
      OTEL_SPAN_LINK_COUNT_LIMIT: '0',
    };
    expect(spanLimitsOf(env)).toEqual({
      attributeCountLimit: 32,
      attributeValueLengthLimit: 200,
      linkCountLimit: 0,
    });
  });
});
