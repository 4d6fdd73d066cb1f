import { misspelledSettings } from '../../src/settings/misspelled.ts';

describe('misspelledSettings', () => {
  test.each([
    ['RATE_LIMIT_REQUEST', 'RATE_LIMIT_REQUESTS'],
    ['WEBHOOKS_ALLOW_HTTP', 'WEBHOOK_ALLOW_HTTP'],
    ['ENCRYPTION_KAY', 'ENCRYPTION_KEY'],
    ['DATA_DRI', 'DATA_DIR'],
    ['DATABASE_URL_FILES', 'DATABASE_URL_FILE'],
    ['PROT', 'PORT'],
  ])('%s is taken for %s', (given, meant) => {
    expect(misspelledSettings({ [given]: 'x' })).toEqual([{ given, meant }]);
  });

  test.each([
    'PORT',
    'DATABASE_URL_FILE',
    'HTTPS_PROXY',
    'https_proxy',
    'HTTP_PROXY',
    'http_proxy',
    'NO_PROXY',
    'PATH',
    'HOME',
    'HOSTNAME',
    'RATE_LIMITS',
    'DATA_DIRXY',
  ])('%s is not reported', (name) => {
    expect(misspelledSettings({ [name]: 'x' })).toEqual([]);
  });

  test('an empty variable is not reported', () => {
    expect(misspelledSettings({ PROT: '' })).toEqual([]);
  });
});
