import type { Logger } from '@rms/runtime/logging';
import type { Redis } from 'ioredis';

/** A primary, and the connection to it. */
export interface RedisServer {
  readonly redis: Redis;
  readonly log: Logger;
  /** Returns the name of this server's copy of a key that every server has: its slot belongs to this server. */
  ownKey(name: string): string;
}

/** The primaries that share the keys: a single primary, or all primaries of a Redis Cluster. */
export interface RedisServers {
  /** Known servers; none before the first contact with a cluster. */
  all(): readonly RedisServer[];
  /** Returns the server that owns the key. Throws if it is unknown. */
  of(key: string): RedisServer;
  /**
   * Calls `attach` with every server before it is connected, also with servers that join later. When a server leaves,
   * calls the function that `attach` returned. Must be called before connect().
   */
  onServer(attach: (server: RedisServer) => () => void): void;
  /** Calls `listener` when slots have moved between servers of a cluster, possibly without their data. */
  onMove(listener: () => void): void;
  /**
   * Returns a function that asks a server for its slots, and returns whether they are the same slots that `of` has
   * assigned to it since the call of `comparison`. The function rejects if the server does not respond.
   */
  comparison(): (server: RedisServer) => Promise<boolean>;
  /**
   * Reports an error of a command. If a cluster node has rejected the command because it does not own the slot,
   * the owners are read again.
   */
  failed(error: unknown): void;
  /**
   * Resolves when the first connection attempts end; an unreachable server is no error. Throws SettingsError if
   * the server is not a cluster although it must be one.
   */
  connect(): Promise<void>;
  disconnect(): void;
}
