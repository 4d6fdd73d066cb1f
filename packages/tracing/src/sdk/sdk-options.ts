/** What tracing tells of itself. */
export interface TracingLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The exporters that OTEL_TRACES_EXPORTER may name. */
export type ExporterKind = 'otlp' | 'console' | 'none';

export interface SdkOptions {
  readonly serviceName: string;
  readonly kind: ExporterKind;
  readonly env: NodeJS.ProcessEnv;
  readonly log: TracingLog;
}

/** Tracing that has begun. */
export interface Tracing {
  /** The process begins to end: what has been traced so far is sent meanwhile. Waits for nothing. */
  ending(): void;
  /** Sends the rest and ends tracing. Waits at most a second, and not at all where nobody listens or nothing was taken. */
  stop(): Promise<void>;
}
