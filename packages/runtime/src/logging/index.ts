export { describeError } from './describe-error.ts';
export { createLogger, gatheringStdout, type Logger } from './logger.ts';
export { readableLines } from './readable-lines.ts';
export { redact, redactLine } from './redact.ts';
