/**
 * State that test files may leave in their process, because it lives as long as the process. `what` matches a line of
 * the report (process-state.mjs).
 */
export const longLived = [
  {
    what: /^listeners of process for exit: [12], before [01]$/,
    reason:
      'packages/runtime/src/logging/stdout.ts keeps two streams of stdout per process, and writes their lines at exit',
  },
  {
    what: /^Reflect\.(decorate|metadata|\w+Metadata(Keys)?|Symbol\(@reflect-metadata:registry\)) added$/,
    reason: 'reflect-metadata, which @rms/net/certificates loads indirectly, adds functions to Reflect',
  },
];
