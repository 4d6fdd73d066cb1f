/** Programs of the image: the command in /app/bin and its source. */
export const programs = {
  gateway: 'services/gateway/src/main.ts',
  auth: 'services/auth/src/main.ts',
  resources: 'services/resources/src/main.ts',
  webhooks: 'services/webhooks/src/main.ts',
  alerts: 'services/alerts/src/main.ts',
  dashboard: 'services/dashboard/src/main.ts',
  'egress-proxy': 'services/egress-proxy/src/main.ts',
  rms: 'cli/src/main.ts',
};
