package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// verifySignature returns whether the service signed the request within the last five minutes.
// body: the raw bytes, before any parsing.
// secrets: the current "whsec_…" and, during a rotation, the previous one.
func verifySignature(headers http.Header, body []byte, secrets []string) bool {
	id, timestamp := headers.Get("webhook-id"), headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Now().Unix() - seconds; err != nil || age > 300 || age < -300 {
		return false
	}
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) < 24 {
			continue // not a signing secret
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
		expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		for _, sent := range strings.Split(headers.Get("webhook-signature"), " ") {
			if hmac.Equal([]byte(sent), []byte(expected)) {
				return true
			}
		}
	}
	return false
}

// verifySignature(r.Header, body, []string{os.Getenv("WEBHOOK_SECRET")})
