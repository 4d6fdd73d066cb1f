/** npm passes on a Ctrl-C that the terminal has sent here as well: one that follows so closely is the same one. */
const sameSignalMs = 1_000;

/** Aborts at Ctrl-C or SIGTERM, from now on; a second one ends the process. */
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
