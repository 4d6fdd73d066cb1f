/** How an endpoint checks that a delivery is ours, in the languages of those who build endpoints. */
export const verificationCode = {
  curl: `# Signs a test body as the service does, and sends it to your endpoint.
BODY='{"id":"evt_test","type":"resource.created"}'
SIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" -r | cut -d' ' -f1)
curl -i "$ENDPOINT_URL" -H 'Content-Type: application/json' \\
  -H "X-Service-Signature: $SIGNATURE" -d "$BODY"`,
  Node: `import { createHmac, timingSafeEqual } from 'node:crypto';

// body: the bytes of the request, before any parsing
export function isOurs(body, signature) {
  const wanted = createHmac('sha256', process.env.WEBHOOK_SECRET).update(body).digest();
  const sent = Buffer.from(signature ?? '', 'hex');
  return sent.length === wanted.length && timingSafeEqual(sent, wanted);
}

// isOurs(body, request.headers['x-service-signature'])`,
  Python: `import hashlib, hmac, os

def is_ours(body: bytes, signature: str) -> bool:
    secret = os.environ["WEBHOOK_SECRET"].encode()
    wanted = hmac.new(secret, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(wanted, signature or "")

# is_ours(request.get_data(), request.headers.get("X-Service-Signature"))`,
  Go: `import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"os"
)

func isOurs(body []byte, signature string) bool {
	mac := hmac.New(sha256.New, []byte(os.Getenv("WEBHOOK_SECRET")))
	mac.Write(body)
	sent, err := hex.DecodeString(signature)
	return err == nil && hmac.Equal(sent, mac.Sum(nil))
}

// isOurs(body, r.Header.Get("X-Service-Signature"))`,
} as const;
