package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

var secrets = strings.Fields(os.Getenv("WEBHOOK_SECRETS"))

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || !verifySignature(r.Header, body, secrets) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var event struct{ ID, Type string }
	if err := json.Unmarshal(body, &event); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	log.Println(event.ID, event.Type) // store the event here
}

func main() {
	http.HandleFunc("POST /webhooks", receive)
	log.Fatal(http.ListenAndServe(":"+os.Getenv("PORT"), nil))
}
