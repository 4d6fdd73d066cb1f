/** Window for ignoring a second signal: npm forwards the Ctrl-C that the terminal also sends to this process. */
const sameSignalMs = 1_000;

/** Returns a signal that aborts on the first SIGINT or SIGTERM. A second one exits the process. */
export function untilInterrupted(): AbortSignal {
  const abort = new AbortController();
  let firstAtMs: number | undefined;
  const onSignal = () => {
    firstAtMs ??= performance.now();
    if (performance.now() - firstAtMs > sameSignalMs) process.exit(130);
    abort.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  return abort.signal;
}
