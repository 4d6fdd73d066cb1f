package main

import (
	"net/http"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// verifySignature is like the function without a library, with the module of Standard Webhooks.
func verifySignature(headers http.Header, body []byte, secrets []string) bool {
	for _, secret := range secrets {
		webhook, err := standardwebhooks.NewWebhook(secret)
		if err == nil && webhook.Verify(body, headers) == nil {
			return true
		}
	}
	return false
}
