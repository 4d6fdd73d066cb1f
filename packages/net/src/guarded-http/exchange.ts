import type { Dispatcher } from 'undici';

/** The log keeps this many bytes of a response body. */
const bodyLimitBytes = 16 * 1024;
/** A longer body is not read to its end: closing the connection is cheaper than reading on. */
const readLimitBytes = bodyLimitBytes * 16;
/** Parsing a 1xx response costs CPU time; an endless stream of them must be cut off. */
const hintsLimit = 16;

type Controller = Dispatcher.DispatchController;

/** Thrown at undici to end a request that this side ends. */
class EndedHere extends Error {}

/**
 * The received part of the response to a request. It is a handler for undici, which calls it directly: a stream for
 * the body would cost more than the whole response.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Status of the response; 0 while its head is incomplete. */
  statusCode = 0;
  /** Names and values of the response's header fields, alternating. */
  rawHeaders: readonly Buffer[] = [];
  /** Time of the first byte of the response, as performance.now(). */
  firstByteAtMs: number | undefined;
  /** The reason why the response is incomplete; undefined if it is complete, or if enough of it was read. */
  error: Error | undefined;
  /** Resolves when the response is complete, or cannot become complete. */
  readonly ended: Promise<void>;

  readonly #end: () => void;
  readonly #chunks: Buffer[] = [];
  #readBytes = 0;
  #hints = 0;
  #isEnded = false;
  #controller: Controller | undefined;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
  }

  /** The received body's start. */
  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** Ends the request, also before it is sent. */
  abort(reason: Error): void {
    this.#finish(reason);
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    // undici does not send a request that is aborted here.
    if (this.#isEnded) controller.abort(this.error ?? new EndedHere());
  }

  onResponseStarted(): void {
    this.firstByteAtMs ??= performance.now();
  }

  onResponseStart({ rawHeaders }: Controller, statusCode: number): void {
    if (statusCode >= 200) {
      this.statusCode = statusCode;
      this.rawHeaders = rawHeaders as Buffer[];
      return;
    }
    this.#hints += 1;
    if (this.#hints > hintsLimit) this.abort(new Error(`more than ${hintsLimit} responses with status 1xx`));
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    const missing = bodyLimitBytes - this.#readBytes;
    if (missing > 0) this.#chunks.push(chunk.length > missing ? chunk.subarray(0, missing) : chunk);
    this.#readBytes += chunk.length;
    if (this.#readBytes <= readLimitBytes) return;
    this.#finish(undefined);
    controller.abort(new EndedHere());
  }

  onResponseEnd(): void {
    this.#finish(undefined);
  }

  onResponseError(_: Controller, error: Error): void {
    this.#finish(error);
  }

  #finish(error: Error | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.error = error;
    this.#end();
  }
}
