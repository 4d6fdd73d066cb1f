/** Maximum time that a rolled key stays valid next to its successor. */
export const maxRollOverlapSeconds = 90 * 24 * 3_600;

/** Highest limit that a key or plan can have, in requests. */
export const maxRequestLimit = 1_000_000_000_000;
