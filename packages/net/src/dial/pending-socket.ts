import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * Stands for a socket that is still being opened, for libraries that need a socket immediately. Emits `open` when it is
 * open, or `error` if it cannot be opened. If it is ended earlier, the attempt ends.
 */
export class PendingSocket extends Duplex {
  readonly #opening: Promise<Socket>;
  readonly #abort: () => void;
  #socket: Socket | undefined;
  #isReferenced = true;

  /** @param open opens the socket; rejects when the signal aborts */
  constructor(open: (signal: AbortSignal) => Promise<Socket>) {
    super({ allowHalfOpen: false });
    const closing = new AbortController();
    this.#abort = () => closing.abort(new Error('the socket was closed'));
    this.#opening = open(closing.signal);
  }

  unref(): this {
    this.#isReferenced = false;
    this.#socket?.unref();
    return this;
  }

  override _construct(done: (error?: Error) => void): void {
    this.#opening.then(
      (socket) => {
        this.#join(socket);
        done();
        if (!this.destroyed) this.emit('open');
      },
      // A destroyed socket reports no error.
      (error) => (this.destroyed ? done() : done(error)),
    );
  }

  #join(socket: Socket): void {
    this.#socket = socket;
    if (!this.#isReferenced) socket.unref();
    socket.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) socket.pause();
    });
    socket.on('end', () => this.push(null));
    socket.on('error', (error) => this.destroy(error));
    socket.on('close', () => {
      // After a regular end, the rest is still read.
      if (!socket.readableEnded) this.destroy();
    });
  }

  override _read(): void {
    this.#socket?.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket?.write(chunk, done);
  }

  override _final(done: () => void): void {
    if (!this.#socket || this.#socket.destroyed) done();
    else this.#socket.end(() => done());
  }

  override end(): this {
    return this.#socket ? super.end() : this.destroy();
  }

  override destroy(error?: Error): this {
    // Node calls _destroy only after _construct ends.
    this.#abort();
    return super.destroy(error);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket?.destroy();
    done(error);
  }
}
