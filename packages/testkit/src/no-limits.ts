/** Options of a limiter without limits. */
export const noLimits = {
  rateLimitRequests: 0,
  workspaceRateLimitRequests: 0,
  rateLimitWindowSeconds: 60,
  monthlyQuota: 0,
  authFailureLimit: 0,
};
