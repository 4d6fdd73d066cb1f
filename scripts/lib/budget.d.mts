/** Returns the figures of a repository by name. `files`: all files, relative to `root`. */
export function countFigures(root: string, files: readonly string[]): Record<string, number>;

/** Returns a line per figure that is over its limit, and per figure or limit without the other. */
export function exceededLimits(figures: Record<string, number>, limits: Record<string, number>): string[];
