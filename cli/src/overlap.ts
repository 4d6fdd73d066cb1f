/** Time during which a replaced key or secret remains in use, unless --overlap is given. The dashboard has the same default. */
export const defaultOverlapMs = 24 * 3_600_000;
