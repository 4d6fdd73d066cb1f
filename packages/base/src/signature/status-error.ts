/**
 * Returns a delivery attempt's error for the status of its complete response; empty if the event is delivered. Many
 * receivers expect that every 2xx status is a success, so their error contains the rule.
 */
export function statusError(statusCode: number): string {
  if (statusCode === 200) return '';
  const looksLikeSuccess = statusCode > 200 && statusCode < 300;
  return looksLikeSuccess ? `status: ${statusCode}; only 200 counts as delivered` : `status: ${statusCode}`;
}
