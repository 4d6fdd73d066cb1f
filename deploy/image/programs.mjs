/** What the image can run: a command in /app/bin for each, and the built file behind it. */
export const programs = {
  gateway: 'services/gateway/dist/main.js',
  auth: 'services/auth/dist/main.js',
  resources: 'services/resources/dist/main.js',
  webhooks: 'services/webhooks/dist/main.js',
  dashboard: 'services/dashboard/dist/main.js',
  'egress-proxy': 'services/webhooks/dist/egress-proxy-main.js',
  rms: 'cli/dist/main.js',
};
