{{/* Trigger on the lag of the webhooks consumer group on the event topic; dict root, name. */}}
{{- define "rms.kafkaTrigger" -}}
{{- with .root.Values.kafka -}}
- type: kafka
  metadata:
    bootstrapServers: {{ include "rms.quote" .brokers }}
    consumerGroup: {{ include "rms.quote" (printf "%s-webhooks" .prefix) }}
    topic: {{ include "rms.quote" (printf "%s.resource-events.v1" .prefix) }}
    lagThreshold: {{ include "rms.quote" $.root.Values.webhooks.keda.lagThreshold }}
    # Pods beyond the number of partitions fan out no events, but they do send deliveries.
    allowIdleConsumers: "true"
    {{- if ne .sasl.mechanism "none" }}
    sasl: {{ get (dict "plain" "plaintext" "scram-sha-256" "scram_sha256" "scram-sha-512" "scram_sha512") .sasl.mechanism }}
    {{- end }}
    {{- if .tls.enabled }}
    tls: enable
    {{- end }}
  {{- if or .tls.enabled (ne .sasl.mechanism "none") }}
  authenticationRef: { name: {{ include "rms.quote" (printf "%s-%s" (include "rms.fullname" $.root) $.name) }} }
  {{- end }}
{{- end -}}
{{- end -}}

{{- define "rms.kedaAuthentication" }}
{{- $kafka := .root.Values.kafka }}
{{- if and (not (index .root.Values .name).keda.triggers) (or $kafka.tls.enabled (ne $kafka.sasl.mechanism "none")) }}
{{- $own := printf "%s-settings" (include "rms.fullname" .root) }}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata: {{- include "rms.metadata" . | nindent 2 }}
spec:
  secretTargetRef:
    {{- if ne $kafka.sasl.mechanism "none" }}
    {{- with $kafka.sasl.password }}
    - parameter: password
      name: {{ include "rms.quote" (include "rms.secretName" (dict "root" $.root "source" . "own" $own)) }}
      key: {{ include "rms.quote" (ternary "kafka-password" .existingSecretKey (ne .value "")) }}
    {{- end }}
    - { parameter: username, name: {{ include "rms.quote" (printf "%s-keda" (include "rms.fullname" .root)) }}, key: username }
    {{- end }}
    {{- if and $kafka.tls.enabled $kafka.tls.existingSecret }}
    {{- range $parameter, $key := dict "ca" $kafka.tls.caKey "cert" $kafka.tls.certKey "key" $kafka.tls.keyKey }}
    {{- if $key }}
    - { parameter: {{ $parameter }}, name: {{ include "rms.quote" $kafka.tls.existingSecret }}, key: {{ include "rms.quote" $key }} }
    {{- end }}
    {{- end }}
    {{- end }}
{{- if ne $kafka.sasl.mechanism "none" }}
---
# KEDA also reads the username from a Secret.
apiVersion: v1
kind: Secret
metadata: {{- include "rms.metadata" (dict "root" .root "name" .name "suffix" "keda") | nindent 2 }}
stringData:
  username: {{ include "rms.quote" $kafka.sasl.username }}
{{- end }}
{{- end }}
{{- end -}}
