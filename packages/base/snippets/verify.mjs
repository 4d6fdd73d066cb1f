import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Returns whether the service signed the request within the last five minutes.
 * headers: lowercase names. body: a Buffer of the raw bytes, before any parsing.
 * secrets: the current "whsec_…" and, during a rotation, the previous one.
 */
export function verifySignature(headers, body, secrets) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp = '', 'webhook-signature': signatures = '' } = headers;
  if (!/^[0-9]{1,12}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  return secrets.some((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    if (key.length < 24) return false; // not a signing secret
    const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64');
    const expected = Buffer.from(`v1,${digest}`);
    return signatures.split(' ').some((signature) => {
      const sent = Buffer.from(signature);
      return sent.length === expected.length && timingSafeEqual(sent, expected);
    });
  });
}

// verifySignature(request.headers, body, [process.env.WEBHOOK_SECRET])
