{{/*
What each component is told: secrets as files, the rest as environment variables.
*/}}

{{/* All secrets: setting → where it comes from, the key of the chart's own Secret, who reads it. */}}
{{- define "rms.secretTable" -}}
DATABASE_URL: { source: {{ toJson .Values.database.url }}, key: database-url, readers: [auth, resources, webhooks, alerts] }
REDIS_URL: { source: {{ toJson .Values.redis.url }}, key: redis-url, readers: [gateway, auth, alerts, dashboard] }
ENCRYPTION_KEY: { source: {{ toJson .Values.encryption.key }}, key: encryption-key, readers: [auth, resources, webhooks, alerts] }
{{- if or .Values.encryption.previousKeys.value .Values.encryption.previousKeys.existingSecretKey }}
ENCRYPTION_KEY_PREVIOUS: { source: {{ toJson .Values.encryption.previousKeys }}, key: encryption-key-previous, readers: [auth, resources, webhooks, alerts] }
{{- end }}
{{- if ne .Values.kafka.sasl.mechanism "none" }}
KAFKA_SASL_PASSWORD: { source: {{ toJson .Values.kafka.sasl.password }}, key: kafka-password, readers: [resources, webhooks, alerts] }
{{- end }}
{{- if or .Values.webhooks.egress.proxyUrl.value .Values.webhooks.egress.proxyUrl.existingSecretKey }}
WEBHOOK_PROXY_URL: { source: {{ toJson .Values.webhooks.egress.proxyUrl }}, key: webhook-proxy-url, readers: [webhooks] }
{{- end }}
{{- if include "rms.hasMail" . }}
SMTP_URL: { source: {{ toJson .Values.smtp.url }}, key: smtp-url, readers: [alerts] }
{{- end }}
{{- if .Values.dashboard.oidc.issuer }}
OIDC_CLIENT_SECRET: { source: {{ toJson .Values.dashboard.oidc.clientSecret }}, key: oidc-client-secret, readers: [dashboard] }
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
alerts: [database, redis, kafka{{ if include "rms.hasMail" . }}, smtp{{ end }}]
dashboard: [redis]
cli: []
test: []
migrate: [database]
tls: []
{{- end -}}

{{/* Which components a component calls: the arrows of the design. */}}
{{- define "rms.callTable" -}}
gateway: [auth, resources, webhooks, alerts]
webhooks: [alerts]
alerts: [auth]
dashboard: [auth, resources, webhooks, alerts]
cli: [auth, webhooks, alerts]
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
{{- else if eq .name "dashboard" }}
HOST: 0.0.0.0
DASHBOARD_PORT: 8090
TRUSTED_PROXIES: {{ join "," $values.gateway.trustedProxies | quote }}
PUBLIC_API_URL: {{ include "rms.publicUrl" (dict "root" .root "given" $values.gateway.publicUrls.live "host" $values.ingress.hosts.live) | quote }}
PUBLIC_SANDBOX_URL: {{ include "rms.publicUrl" (dict "root" .root "given" $values.gateway.publicUrls.sandbox "host" $values.ingress.hosts.sandbox) | quote }}
{{- with $values.dashboard.oidc }}
{{- if .issuer }}
OIDC_ISSUER: {{ .issuer | quote }}
OIDC_CLIENT_ID: {{ .clientId | quote }}
OIDC_NAME: {{ .name | quote }}
{{- end }}
{{- end }}
{{- else if ne .name "cli" }}
GRPC_HOST: 0.0.0.0
GRPC_PORT: 9090
{{- end }}
{{- range default list (index (fromYaml (include "rms.callTable" $.root)) $.name) }}
{{ upper . }}_ADDRESS: {{ if (index $values .).enabled }}dns:///{{ include "rms.fullname" $.root }}-{{ . }}:9090{{ else }}none{{ end }}
{{- end }}
{{- if has .name (list "alerts" "dashboard") }}
DASHBOARD_URL: {{ include "rms.publicUrl" (dict "root" .root "given" $values.dashboard.publicUrl "host" $values.ingress.hosts.dashboard) | quote }}
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
{{- if has "smtp" $stores }}
MAIL_FROM: {{ $values.smtp.from | quote }}
{{- include "rms.storeTls" (dict "prefix" "SMTP" "tls" $values.smtp.tls) }}
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

{{/* Whether there is a mail server. */}}
{{- define "rms.hasMail" -}}
{{- with .Values.smtp.url -}}
{{- if or .value .existingSecret .existingSecretKey }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* Where a host of the ingress is found, unless it is given; nothing if there is none; dict root, given, host. */}}
{{- define "rms.publicUrl" -}}
{{- if .given -}}
{{- .given -}}
{{- else if and .root.Values.ingress.enabled .host -}}
{{- ternary "https" "http" (not (empty .root.Values.ingress.tls)) }}://{{ .host -}}
{{- end -}}
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
