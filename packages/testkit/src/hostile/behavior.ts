/** Behavior of the receiver for requests of a path. Durations are in milliseconds. */
export type Behavior =
  | ResponseBehavior
  /** Reads the request and sends no response. */
  | { readonly kind: 'silent' }
  /** Sends one byte per second of an endless head, or of the body after a 200 head. */
  | { readonly kind: 'drip'; readonly part: 'head' | 'body' }
  /** Sends a 200 response with an endless body, as fast as the peer reads. */
  | { readonly kind: 'endless body' }
  /** Sends a 200 response with a body of `bytes` bytes. */
  | { readonly kind: 'huge body'; readonly bytes: number }
  /** Sends a head of `bytes` bytes. */
  | { readonly kind: 'huge head'; readonly bytes: number }
  /** Sends a response with this status and a header of as many blanks as HTTP parsers accept, between two letters. */
  | { readonly kind: 'blank header'; readonly status: number }
  /** Sends 103 responses repeatedly, as fast as the peer reads, and never a final response. */
  | { readonly kind: 'endless hints' }
  /** Sends exactly these bytes (base64), then keeps, ends or resets the connection. */
  | { readonly kind: 'raw'; readonly bytes: string; readonly connection: 'keep' | 'end' | 'reset' }
  /** Resets the connection instead of responding. */
  | { readonly kind: 'reset' }
  /** Sends 200 after the request head; the rest of the request is never read. */
  | { readonly kind: 'respond early' }
  /** Sends 200 and keeps the connection open; resets it at the first byte of the next request. */
  | { readonly kind: 'close on reuse' };

export interface ResponseBehavior {
  readonly kind: 'respond';
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly afterMs?: number;
  /** Default: 1.1. With 1.0, the connection ends after the response. */
  readonly version?: '1.0' | '1.1';
  /** Whether the connection ends after the response. */
  readonly close?: boolean;
  /** Events that always get a different status. */
  readonly refused?: { readonly eventIds: readonly string[]; readonly status: number };
}

/** Behaviors by path, without the query. */
export type Behaviors = Readonly<Record<string, Behavior>>;

/** A receiver's record. The file contains one line of JSON per record, in chronological order. */
export type ReceiverRecord = StartRecord | ReadRecord | RespondedRecord;

/** The receiver has started. */
export interface StartRecord {
  readonly kind: 'start';
}

/** A request was read, or only its head for "respond early"; no response has been sent. */
export interface ReadRecord {
  readonly kind: 'read';
  /** Number of the request since the start. */
  readonly request: number;
  /** Number of the connection since the start. */
  readonly connection: number;
  readonly path: string;
  /** The `webhook-id` header. */
  readonly eventId: string;
  /** Whether X-Service-Signature matches the body and the path's secret; undefined without a secret or a body. */
  readonly verified: boolean | undefined;
  readonly atMs: number;
}

/** The system has accepted the whole 200 response. */
export interface RespondedRecord {
  readonly kind: 'responded';
  readonly request: number;
  readonly eventId: string;
}

/** Settings of the receiver program, passed at its start. */
export interface ReceiverSettings {
  /** Port per listener; 0: disabled. */
  readonly ports: Readonly<Record<ListenerName, number>>;
  readonly controlPort: number;
  /** File that records are appended to. */
  readonly recordFile: string;
  /** File with a {@link ReceiverPlan}. */
  readonly planFile: string;
  /** Maximum number of connections that wait to be accepted. */
  readonly backlog: number;
  /** Key and certificate files, by listener. */
  readonly tls: Readonly<Partial<Record<ListenerName, { readonly certFile: string; readonly keyFile: string }>>>;
}

/** Settings that can change at run time. */
export interface ReceiverPlan {
  readonly behaviors: Behaviors;
  /** Signing secrets by path. */
  readonly secrets: Readonly<Record<string, string>>;
}

export const listenerNames = [
  'http',
  'https',
  'expired',
  'wrongName',
  'selfSigned',
  'oldTls',
  /** Accepts connections without reading or writing, so that no TLS handshake completes. */
  'mute',
  /** Ends each connection at its first bytes. */
  'closing',
  /** Resets every incoming connection. */
  'resetting',
] as const;
export type ListenerName = (typeof listenerNames)[number];
