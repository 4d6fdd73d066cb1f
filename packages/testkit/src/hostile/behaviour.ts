/** How the receiver treats the requests of a path. Durations in milliseconds. */
export type Behaviour =
  | AnswerBehaviour
  /** Reads the request, and says nothing. */
  | { readonly kind: 'silent' }
  /** One byte a second: of the head, without end; or of the body, after a head of 200. */
  | { readonly kind: 'drip'; readonly part: 'head' | 'body' }
  /** A body of 200 that never ends, as fast as it is taken. */
  | { readonly kind: 'endless body' }
  /** An answer of 200 with a body of so many bytes. */
  | { readonly kind: 'huge body'; readonly bytes: number }
  /** A head of so many bytes. */
  | { readonly kind: 'huge head'; readonly bytes: number }
  /** 103 again and again, as fast as it is taken; the answer never comes. */
  | { readonly kind: 'endless hints' }
  /** Exactly these bytes (base64), and after them what is said of the connection. */
  | { readonly kind: 'raw'; readonly bytes: string; readonly connection: 'keep' | 'end' | 'reset' }
  /** RST in place of an answer. */
  | { readonly kind: 'reset' }
  /** 200 once the head is there; the rest of the request is never read. */
  | { readonly kind: 'answer early' }
  /** 200, and the connection stays; at the first byte of the next request on it, it is reset. */
  | { readonly kind: 'close on reuse' };

export interface AnswerBehaviour {
  readonly kind: 'answer';
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly afterMs?: number;
  /** Default: 1.1. With 1.0 the connection ends after it. */
  readonly version?: '1.0' | '1.1';
  /** The connection ends after it. */
  readonly close?: boolean;
  /** Events that are answered with another status, each time. */
  readonly refused?: { readonly eventIds: readonly string[]; readonly status: number };
}

/** By path, without the query. */
export type Behaviours = Readonly<Record<string, Behaviour>>;

/** What the receiver writes down: one line of JSON each, in the order of its life. */
export type ReceiverRecord = StartRecord | ReadRecord | AnsweredRecord;

/** The receiver has started. */
export interface StartRecord {
  readonly kind: 'start';
}

/** It has read a whole request, and has not answered yet. */
export interface ReadRecord {
  readonly kind: 'read';
  /** Counts requests from its start. */
  readonly request: number;
  /** Counts connections from its start. */
  readonly connection: number;
  readonly path: string;
  /** The `webhook-id`. */
  readonly eventId: string;
  /** Whether X-Service-Signature fits the body and the secret of the path; undefined: it knows no secret, or no body. */
  readonly verified: boolean | undefined;
  readonly atMs: number;
}

/** The system has taken the whole answer of 200. */
export interface AnsweredRecord {
  readonly kind: 'answered';
  readonly request: number;
  readonly eventId: string;
}

/** What the program is told when it starts. */
export interface ReceiverSettings {
  /** 0: it does not listen. */
  readonly ports: Readonly<Record<ListenerName, number>>;
  readonly controlPort: number;
  /** Is appended to. */
  readonly recordFile: string;
  /** Holds a {@link ReceiverPlan}. */
  readonly planFile: string;
  /** Connections that may wait to be accepted. */
  readonly backlog: number;
  /** Files of keys and certificates, by listener. */
  readonly tls: Readonly<Partial<Record<ListenerName, { readonly certFile: string; readonly keyFile: string }>>>;
}

/** What can be switched while it runs. */
export interface ReceiverPlan {
  readonly behaviours: Behaviours;
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
  /** Accepts, and never reads nor writes: no handshake ends. */
  'mute',
  /** Ends each connection at its first bytes. */
  'closing',
  /** Resets each connection when it comes. */
  'resetting',
] as const;
export type ListenerName = (typeof listenerNames)[number];
