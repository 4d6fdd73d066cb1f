import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The lifetime of an RPC that is being served. It ends early when the caller cancels or its deadline passes. Statements
 * and calls that a handler makes end with it, without passing a signal through every function.
 */
export class CallScope {
  /** The workspace that the call is for; empty: several workspaces, or none. */
  readonly owner: string;
  #reason: unknown;
  #closed = false;
  #listeners: Set<(reason: unknown) => void> | undefined;

  constructor(owner = '') {
    this.owner = owner;
  }

  /** Throws the reason if the call ended. */
  check(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Ends the call: calls all listeners. The first reason applies. */
  end(reason: unknown): void {
    if (this.#closed || this.#reason !== undefined) return;
    this.#reason = reason;
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener(reason);
  }

  /** Closes the scope when the handler has returned: work that it started without waiting for it does not end. */
  close(): void {
    this.#closed = true;
    this.#reason = undefined;
    this.#listeners = undefined;
  }

  /** Calls `listener` when the call ends. Returns a function that removes it. */
  onEnd(listener: (reason: unknown) => void): () => void {
    if (this.#reason !== undefined) listener(this.#reason);
    if (this.#closed || this.#reason !== undefined) return () => {};
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
    return () => this.#listeners?.delete(listener);
  }
}

const storage = new AsyncLocalStorage<CallScope | undefined>();

/** Returns the call that is being served; undefined in workers, and in work shared with callers without a scope. */
export function currentCall(): CallScope | undefined {
  return storage.getStore();
}

/** Runs `work` and its asynchronous continuations as part of the call; undefined: outside of all calls. */
export function inCall<T>(call: CallScope | undefined, work: () => T): T {
  return storage.getStore() === call ? work() : storage.run(call, work);
}

/**
 * Creates the scope of work that is shared by several calls: it ends when all of them end. Call `leave` after the
 * work.
 */
export function joinCalls(calls: readonly (CallScope | undefined)[]): {
  call: CallScope | undefined;
  leave: () => void;
} {
  const distinct = new Set(calls);
  const [only] = distinct;
  if (distinct.size === 1 || distinct.has(undefined)) {
    return { call: distinct.has(undefined) ? undefined : only, leave: () => {} };
  }
  const joint = new CallScope();
  let remaining = distinct.size;
  const leaves = [...distinct].map((call) =>
    call?.onEnd((reason) => {
      remaining -= 1;
      if (remaining === 0) joint.end(reason);
    }),
  );
  return {
    call: joint,
    leave() {
      for (const leave of leaves) leave?.();
    },
  };
}
