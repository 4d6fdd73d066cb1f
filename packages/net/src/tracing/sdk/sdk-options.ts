/** Logger of the tracing code. */
export interface TracingLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Exporters that OTEL_TRACES_EXPORTER can name. */
export type ExporterKind = 'otlp' | 'console' | 'none';

export interface SdkOptions {
  readonly serviceName: string;
  readonly kind: ExporterKind;
  readonly env: NodeJS.ProcessEnv;
  readonly log: TracingLog;
}

/** Handle of active tracing. */
export interface Tracing {
  /** Starts to send the recorded spans when the process begins to exit. Returns immediately. */
  ending(): void;
  /**
   * Sends the remaining spans and stops tracing. Waits for at most one second, and not at all if the collector is
   * unreachable or the last export failed.
   */
  stop(): Promise<void>;
}
