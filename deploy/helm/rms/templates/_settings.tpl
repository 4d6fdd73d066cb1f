{{/*
What each component is told: secrets as files, the rest as environment variables.
*/}}

{{/* All secrets: setting → where it comes from, the key of the chart's own Secret, who reads it. */}}
{{- define "rms.secretTable" -}}
DATABASE_URL: { source: {{ toJson .Values.database.url }}, key: database-url, readers: [auth, resources, webhooks] }
REDIS_URL: { source: {{ toJson .Values.redis.url }}, key: redis-url, readers: [gateway, auth] }
ENCRYPTION_KEY: { source: {{ toJson .Values.encryption.key }}, key: encryption-key, readers: [auth, resources, webhooks] }
{{- if or .Values.encryption.previousKeys.value .Values.encryption.previousKeys.existingSecretKey }}
ENCRYPTION_KEY_PREVIOUS: { source: {{ toJson .Values.encryption.previousKeys }}, key: encryption-key-previous, readers: [auth, resources, webhooks] }
{{- end }}
{{- if ne .Values.kafka.sasl.mechanism "none" }}
KAFKA_SASL_PASSWORD: { source: {{ toJson .Values.kafka.sasl.password }}, key: kafka-password, readers: [resources, webhooks] }
{{- end }}
{{- if or .Values.webhooks.egress.proxyUrl.value .Values.webhooks.egress.proxyUrl.existingSecretKey }}
WEBHOOK_PROXY_URL: { source: {{ toJson .Values.webhooks.egress.proxyUrl }}, key: webhook-proxy-url, readers: [webhooks] }
{{- end }}
{{- end -}}

{{/* The name of the Secret that holds a secret; dict root, source, own (the chart's Secret that has the values). */}}
{{- define "rms.secretName" -}}
{{- if .source.value }}{{ .own }}{{ else }}{{ default .root.Values.existingSecret .source.existingSecret }}{{ end -}}
{{- end -}}

{{/* The sources of a projected volume with the secrets of a component, as a list; dict root, name. */}}
{{- define "rms.secretSources" -}}
{{- $own := printf "%s-settings" (include "rms.fullname" .root) -}}
{{- $sources := list -}}
{{- range $setting, $secret := fromYaml (include "rms.secretTable" .root) -}}
{{- if has $.name $secret.readers -}}
{{- $name := include "rms.secretName" (dict "root" $.root "source" $secret.source "own" $own) -}}
{{- $key := ternary $secret.key $secret.source.existingSecretKey (ne $secret.source.value "") -}}
{{- $sources = append $sources (dict "secret" (dict "name" $name "items" (list (dict "key" $key "path" $secret.key)))) -}}
{{- end -}}
{{- end -}}
{{- toJson $sources -}}
{{- end -}}

{{/* NAME_FILE of each secret of a component. */}}
{{- define "rms.secretFiles" -}}
{{- range $setting, $secret := fromYaml (include "rms.secretTable" .root) }}
{{- if has $.name $secret.readers }}
{{ $setting }}_FILE: /run/rms/secrets/{{ $secret.key }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Files of TLS to a store: PREFIX_CA_FILE and, if there are, PREFIX_CERT_FILE and PREFIX_KEY_FILE; dict prefix, tls. */}}
{{- define "rms.storeTls" -}}
{{- if .tls.existingSecret }}
{{- $folder := printf "/run/rms/%s" (lower .prefix) }}
{{- with .tls.caKey }}
{{ $.prefix }}_CA_FILE: {{ $folder }}/{{ . }}
{{- end }}
{{- with .tls.certKey }}
{{ $.prefix }}_CERT_FILE: {{ $folder }}/{{ . }}
{{- end }}
{{- with .tls.keyKey }}
{{ $.prefix }}_KEY_FILE: {{ $folder }}/{{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "rms.databaseSettings" -}}
DATABASE_POOL_SIZE: {{ .Values.database.poolSize }}
DATABASE_ROLE_PREFIX: {{ .Values.database.rolePrefix }}
{{- include "rms.storeTls" (dict "prefix" "DATABASE" "tls" .Values.database.tls) }}
{{- end -}}

{{- define "rms.kafkaSettings" -}}
KAFKA_BROKERS: {{ .Values.kafka.brokers }}
KAFKA_PREFIX: {{ .Values.kafka.prefix }}
EVENT_PARTITIONS: {{ .Values.kafka.partitions }}
EVENT_REPLICATION: {{ .Values.kafka.replication }}
{{- if .Values.kafka.tls.enabled }}
KAFKA_TLS: true
{{- include "rms.storeTls" (dict "prefix" "KAFKA" "tls" .Values.kafka.tls) }}
{{- end }}
{{- if ne .Values.kafka.sasl.mechanism "none" }}
KAFKA_SASL_MECHANISM: {{ .Values.kafka.sasl.mechanism }}
KAFKA_SASL_USERNAME: {{ .Values.kafka.sasl.username }}
{{- end }}
{{- end -}}

{{/* Which stores a component uses. */}}
{{- define "rms.storeTable" -}}
gateway: [redis]
auth: [database, redis]
resources: [database, kafka]
webhooks: [database, kafka]
alerts: [database, kafka]
dashboard: []
cli: []
test: []
migrate: [database]
tls: []
{{- end -}}

{{/* Which components a component calls: the arrows of the design. */}}
{{- define "rms.callTable" -}}
gateway: [auth, resources, webhooks]
alerts: [auth, webhooks]
dashboard: [auth, resources, webhooks, alerts]
cli: [auth, webhooks]
test: [gateway, auth, webhooks]
{{- end -}}

{{/* Environment variables of a component without its secrets, as a map; dict root, name. */}}
{{- define "rms.settings" -}}
{{- $values := .root.Values -}}
{{- $stores := index (fromYaml (include "rms.storeTable" .root)) .name -}}
{{- if ne .name "cli" }}
METRICS_ADDRESS: 0.0.0.0:9464
LOG_LEVEL_FILE: /run/rms/log/level
{{- include "rms.secretFiles" . }}
{{- end }}
{{- if eq .name "gateway" }}
HOST: 0.0.0.0
PORT: 8080
SANDBOX_PORT: 8081
TRUSTED_PROXIES: {{ join "," $values.gateway.trustedProxies | quote }}
PUBLIC_API_URL: {{ $values.gateway.publicUrls.live | quote }}
PUBLIC_SANDBOX_URL: {{ $values.gateway.publicUrls.sandbox | quote }}
{{- else if ne .name "cli" }}
GRPC_HOST: 0.0.0.0
GRPC_PORT: 9090
{{- end }}
{{- range default list (index (fromYaml (include "rms.callTable" $.root)) $.name) }}
{{ upper . }}_ADDRESS: dns:///{{ include "rms.fullname" $.root }}-{{ . }}:9090
{{- end }}
{{- if eq $values.tls.mode "none" }}
INSECURE_GRPC: true
{{- else }}
GRPC_CERT_FILE: /run/rms/tls/tls.crt
GRPC_KEY_FILE: /run/rms/tls/tls.key
GRPC_CA_FILE: /run/rms/tls/ca.crt
{{- end }}
{{- if has "database" $stores }}
{{ include "rms.databaseSettings" .root }}
{{- end }}
{{- if has "redis" $stores }}
{{- include "rms.storeTls" (dict "prefix" "REDIS" "tls" $values.redis.tls) }}
{{- end }}
{{- if has "kafka" $stores }}
{{ include "rms.kafkaSettings" .root }}
{{- end }}
{{- if eq .name "webhooks" }}
WEBHOOK_ALLOW_CIDRS: {{ join "," $values.webhooks.egress.allowCidrs | quote }}
WEBHOOK_ALLOW_HTTP: {{ $values.webhooks.egress.allowHttp }}
{{- end }}
{{- if and $values.observability.otlp.endpoint (ne .name "cli") }}
OTEL_SERVICE_NAME: rms-{{ .name }}
OTEL_EXPORTER_OTLP_ENDPOINT: {{ $values.observability.otlp.endpoint }}
OTEL_EXPORTER_OTLP_PROTOCOL: {{ $values.observability.otlp.protocol }}
OTEL_TRACES_SAMPLER: {{ $values.observability.sampler }}
OTEL_TRACES_SAMPLER_ARG: {{ $values.observability.samplerArg | quote }}
OTEL_RESOURCE_ATTRIBUTES: {{ $values.observability.resourceAttributes | quote }}
{{- end }}
{{- range $setting, $value := merge (dict) (index $values .name).settings $values.settings }}
{{ $setting }}: {{ include "rms.text" $value | quote }}
{{- end }}
{{- end -}}

{{/* A value as text: whole numbers as they are written. */}}
{{- define "rms.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{/* What the chart's own Secret holds: secrets that were given as values. */}}
{{- define "rms.ownSecretData" -}}
{{- range $setting, $secret := fromYaml (include "rms.secretTable" .) }}
{{- with $secret.source.value }}
{{ $secret.key }}: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .Values.observability.otlp.headers.value }}
otlp-headers: {{ . | quote }}
{{- end }}
{{- end -}}
