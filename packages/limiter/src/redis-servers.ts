import type { Logger } from '@rms/logging';
import type { Scripted } from './connect-later.ts';

/** One primary, and the connection to it. */
export interface RedisServer {
  readonly redis: Scripted;
  readonly log: Logger;
  /** Returns the name of a key that each server has for itself: its slot belongs to the server. */
  ownKey(name: string): string;
}

/** The primaries among which the keys are divided: a single one, or those of a Redis Cluster. */
export interface RedisServers {
  /** Known servers; none before the first contact with a cluster. */
  all(): readonly RedisServer[];
  /** Returns the server that owns the key. Throws if it is unknown. */
  of(key: string): RedisServer;
  /**
   * Calls `attach` for each server before it is connected, also for those that join later, and when a server leaves the
   * function that `attach` returned. Call it before connect().
   */
  onServer(attach: (server: RedisServer) => () => void): void;
  /** Calls `listener` when slots have moved between servers of a cluster, possibly without their data. */
  onMove(listener: () => void): void;
  /**
   * Returns a function that compares, from now on: whether the keys that a server owns, as it says itself, are those that
   * have been assigned to it by `of` since now. Rejects if the server does not respond.
   */
  comparison(): (server: RedisServer) => Promise<boolean>;
  /**
   * Reports an error of a command. A node of a cluster rejects commands for slots that it does not own; then the owners
   * are read again.
   */
  failed(error: unknown): void;
  /**
   * Resolves when the first connection attempts have ended; an unreachable server is no error. Throws SettingsError if
   * the server is not a cluster although it must be one.
   */
  connect(): Promise<void>;
  disconnect(): void;
}
