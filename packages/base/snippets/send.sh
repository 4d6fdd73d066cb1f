# Signs a test event as the service does, and sends it to your endpoint.
BODY='{"id":"evt_test","type":"resource.created"}'
TIMESTAMP=$(date +%s)
KEY=$(printf %s "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
SIGNATURE=$(printf %s "evt_test.$TIMESTAMP.$BODY" |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | openssl base64 -A)
curl -i "$ENDPOINT_URL" -H 'Content-Type: application/json' -H 'webhook-id: evt_test' \
  -H "webhook-timestamp: $TIMESTAMP" -H "webhook-signature: v1,$SIGNATURE" -d "$BODY"
