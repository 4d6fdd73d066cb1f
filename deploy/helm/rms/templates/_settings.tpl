{{/* Configuration of each component: secrets as files, everything else as environment variables. */}}

{{/*
All secrets: name → its source, its key in the chart's own Secret, and the components that read it as the setting of
that name, or as `setting`.
*/}}
{{- define "rms.secretTable" -}}
{{- $dashboardRedis := or .Values.redis.dashboardUrl.value .Values.redis.dashboardUrl.existingSecretKey -}}
DATABASE_URL: { source: {{ toJson .Values.database.url }}, key: database-url, readers: [auth, resources, webhooks, alerts] }
REDIS_URL: { source: {{ toJson .Values.redis.url }}, key: redis-url, readers: [gateway, auth, alerts{{ if not $dashboardRedis }}, dashboard{{ end }}] }
{{- if $dashboardRedis }}
DASHBOARD_REDIS_URL: { source: {{ toJson .Values.redis.dashboardUrl }}, key: dashboard-redis-url, setting: REDIS_URL, readers: [dashboard] }
{{- end }}
{{- if .Values.dashboard.enabled }}
SESSION_KEY: { source: {{ toJson .Values.dashboard.sessionKey }}, key: session-key, readers: [dashboard] }
{{- end }}
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

{{/* Name of the Secret that contains a secret; dict root, source, own (the chart's Secret with inline values). */}}
{{- define "rms.secretName" -}}
{{- if .source.value }}{{ .own }}{{ else }}{{ default .root.Values.existingSecret .source.existingSecret }}{{ end -}}
{{- end -}}

{{/* Sources of the projected volume with a component's secrets, as a list; dict root, name. */}}
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

{{/* NAME_FILE for each secret of a component; dict root, name. */}}
{{- define "rms.secretFiles" -}}
{{- range $name, $secret := fromYaml (include "rms.secretTable" .root) }}
{{- if has $.name $secret.readers }}
{{ default $name $secret.setting }}_FILE: /run/rms/secrets/{{ $secret.key }}
{{- end }}
{{- end }}
{{- end -}}

{{/* TLS files for a store: PREFIX_CA_FILE and, if set, PREFIX_CERT_FILE and PREFIX_KEY_FILE; dict prefix, tls. */}}
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

{{/* The stores that each component uses. */}}
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

{{/* The components that each component calls. */}}
{{- define "rms.callTable" -}}
gateway: [auth, resources, webhooks, alerts]
webhooks: [alerts]
alerts: [auth]
dashboard: [auth, resources, webhooks, alerts]
cli: [auth, webhooks, alerts]
test: [gateway, auth, webhooks]
{{- end -}}

{{/* Environment variables of a component, without its secrets, as a map; dict root, name. */}}
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
ERROR_CATALOG_URL: {{ $values.gateway.errorCatalogUrl | quote }}
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
OIDC_EMAIL_CLAIM: {{ .emailClaim | quote }}
OIDC_EMAIL_TRUST: {{ .emailTrust | quote }}
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
EMAIL_FROM: {{ $values.smtp.from | quote }}
SMTP_TLS: {{ $values.smtp.startTls | quote }}
SMTP_EHLO_NAME: {{ $values.smtp.ehloName | quote }}
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

{{/* "true" if a mail server is configured, otherwise empty. */}}
{{- define "rms.hasMail" -}}
{{- with .Values.smtp.url -}}
{{- if or .value .existingSecret .existingSecretKey }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* The given URL, or the URL of an ingress host, or empty; dict root, given, host. */}}
{{- define "rms.publicUrl" -}}
{{- if .given -}}
{{- .given -}}
{{- else if and .root.Values.ingress.enabled .host -}}
{{- ternary "https" "http" (not (empty .root.Values.ingress.tls)) }}://{{ .host -}}
{{- end -}}
{{- end -}}

{{/* A value as text. Helm parses every number as a float; they are printed as integers. */}}
{{- define "rms.text" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{/* Content of the chart's own Secret: secrets given as inline values. */}}
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
