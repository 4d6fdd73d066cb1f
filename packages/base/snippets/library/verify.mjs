import { Webhook } from 'standardwebhooks';

/** Like verifySignature without a library, with the package `standardwebhooks`. */
export function verifySignature(headers, body, secrets) {
  return secrets.some((secret) => {
    try {
      new Webhook(secret).verify(body, headers);
      return true;
    } catch {
      return false;
    }
  });
}
