interface KafkaError {
  readonly name?: string;
  /** Name of the broker's error code, such as MESSAGE_TOO_LARGE. */
  readonly type?: string;
  readonly retriable?: boolean;
  readonly cause?: KafkaError;
  /** Errors of the topics that a request concerned. */
  readonly errors?: readonly KafkaError[];
}

/** Returns the broker's error code name; empty if the error has another origin. */
export function typeOf(error: unknown): string {
  const { type, cause, errors } = (error ?? {}) as KafkaError;
  return type ?? cause?.type ?? errors?.[0]?.type ?? '';
}

/** Returns false for an error that a retry would repeat, such as a record that is too large or not allowed. */
export function isRetryable(error: unknown): boolean {
  const { name, retriable, cause } = error as KafkaError;
  return name === 'KafkaJSNumberOfRetriesExceeded' || retriable === true || cause?.retriable === true;
}

/** Returns whether the broker rejected a batch's size. */
export function isTooLarge(error: unknown): boolean {
  return ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'].includes(typeOf(error));
}

/** Reports that a topic lacks a batch's partition, or does not exist. */
export class MissingPartitionError extends Error {
  readonly retriable = true;

  constructor({ topic, partition }: { readonly topic: string; readonly partition: number }) {
    super(`topic ${topic} has no partition ${partition}`);
  }
}

/** Returns whether a topic, or one of its partitions, does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof MissingPartitionError || typeOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION';
}

/** Name of kafkajs's error for an unsupported codec. It ends a consumer without retries. */
const notImplemented = 'KafkaJSNotImplemented';

/** Reports that a batch's records cannot be decompressed. */
export class UnreadableBatchError extends Error {
  override readonly name = notImplemented;
}

/** Returns whether a batch cannot be read, however often it is fetched. */
export function isUnreadable(error: unknown): boolean {
  return (error as KafkaError).name === notImplemented;
}
