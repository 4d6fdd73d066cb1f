{{/* Configuration of each component: secrets as files, everything else as environment variables. All helpers return JSON. */}}

{{/*
All secrets: name → the value of the chart that names its source, the source, its key in the chart's own Secret, and the
components that read it as the setting of that name, or as `setting`.
*/}}
{{- define "rms.secretTable" -}}
{{- $values := .Values -}}
{{- $services := list "auth" "resources" "webhooks" "alerts" -}}
{{- $redisReaders := list "gateway" "auth" "alerts" "dashboard" -}}
{{- $table := dict
  "DATABASE_URL" (dict "where" "database.url" "source" $values.database.url "key" "database-url" "readers" $services)
  "ENCRYPTION_KEY" (dict "where" "encryption.key" "source" $values.encryption.key "key" "encryption-key" "readers" $services)
-}}
{{- with $values.redis.dashboardUrl -}}
{{- if or .value .existingSecretKey -}}
{{- $redisReaders = without $redisReaders "dashboard" -}}
{{- $_ := set $table "DASHBOARD_REDIS_URL" (dict "where" "redis.dashboardUrl" "source" . "key" "dashboard-redis-url" "setting" "REDIS_URL" "readers" (list "dashboard")) -}}
{{- end -}}
{{- end -}}
{{- with $values.redis.sentinels.password -}}
{{- if or .value .existingSecretKey -}}
{{- $_ := set $table "REDIS_SENTINEL_PASSWORD" (dict "where" "redis.sentinels.password" "source" . "key" "redis-sentinel-password" "readers" (list "gateway" "auth" "alerts" "dashboard")) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $table "REDIS_URL" (dict "where" "redis.url" "source" $values.redis.url "key" "redis-url" "readers" $redisReaders) -}}
{{- if $values.dashboard.enabled -}}
{{- $_ := set $table "SESSION_KEY" (dict "where" "dashboard.sessionKey" "source" $values.dashboard.sessionKey "key" "session-key" "readers" (list "dashboard")) -}}
{{- end -}}
{{- with $values.encryption.previousKeys -}}
{{- if or .value .existingSecretKey -}}
{{- $_ := set $table "ENCRYPTION_KEY_PREVIOUS" (dict "where" "encryption.previousKeys" "source" . "key" "encryption-key-previous" "readers" $services) -}}
{{- end -}}
{{- end -}}
{{- if ne $values.kafka.sasl.mechanism "none" -}}
{{- $_ := set $table "KAFKA_SASL_PASSWORD" (dict "where" "kafka.sasl.password" "source" $values.kafka.sasl.password "key" "kafka-password" "readers" (list "resources" "webhooks" "alerts")) -}}
{{- end -}}
{{- with $values.webhooks.egress.proxyUrl -}}
{{- if or .value .existingSecretKey -}}
{{- $_ := set $table "WEBHOOK_PROXY_URL" (dict "where" "webhooks.egress.proxyUrl" "source" . "key" "webhook-proxy-url" "readers" (list "webhooks" "alerts")) -}}
{{- end -}}
{{- end -}}
{{- if include "rms.hasMail" . -}}
{{- $_ := set $table "SMTP_URL" (dict "where" "smtp.url" "source" $values.smtp.url "key" "smtp-url" "readers" (list "alerts")) -}}
{{- end -}}
{{- if $values.dashboard.oidc.issuer -}}
{{- $_ := set $table "OIDC_CLIENT_SECRET" (dict "where" "dashboard.oidc.clientSecret" "source" $values.dashboard.oidc.clientSecret "key" "oidc-client-secret" "readers" (list "dashboard")) -}}
{{- end -}}
{{- toJson $table -}}
{{- end -}}

{{/* Name of the Secret that contains a secret; dict root, source, own (the chart's Secret with inline values). */}}
{{- define "rms.secretName" -}}
{{- if .source.value }}{{ .own }}{{ else }}{{ default .root.Values.existingSecret .source.existingSecret }}{{ end -}}
{{- end -}}

{{/* Sources of the projected volume with a component's secrets, as a list; dict root, name. */}}
{{- define "rms.secretSources" -}}
{{- $own := printf "%s-settings" (include "rms.fullname" .root) -}}
{{- $sources := list -}}
{{- range $setting, $secret := mustFromJson (include "rms.secretTable" .root) -}}
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
{{- $settings := dict -}}
{{- range $name, $secret := mustFromJson (include "rms.secretTable" .root) -}}
{{- if has $.name $secret.readers -}}
{{- $_ := set $settings (printf "%s_FILE" (default $name $secret.setting)) (printf "/run/rms/secrets/%s" $secret.key) -}}
{{- end -}}
{{- end -}}
{{- toJson $settings -}}
{{- end -}}

{{/* TLS files for a store: PREFIX_CA_FILE and, if set, PREFIX_CERT_FILE and PREFIX_KEY_FILE; dict prefix, tls. */}}
{{- define "rms.storeTls" -}}
{{- $settings := dict -}}
{{- if .tls.existingSecret -}}
{{- range $part, $key := dict "CA" .tls.caKey "CERT" .tls.certKey "KEY" .tls.keyKey -}}
{{- if $key -}}
{{- $_ := set $settings (printf "%s_%s_FILE" $.prefix $part) (printf "/run/rms/%s/%s" (lower $.prefix) $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $settings -}}
{{- end -}}

{{- define "rms.databaseSettings" -}}
{{- with .Values.database -}}
{{- $own := dict "DATABASE_POOL_SIZE" .poolSize "DATABASE_ROLE_PREFIX" .rolePrefix -}}
{{- include "rms.merged" (list $own (mustFromJson (include "rms.storeTls" (dict "prefix" "DATABASE" "tls" .tls)))) -}}
{{- end -}}
{{- end -}}

{{- define "rms.redisSettings" -}}
{{- with .Values.redis -}}
{{- $own := dict -}}
{{- if .sentinels.hosts -}}
{{- $_ := set $own "REDIS_SENTINELS" .sentinels.hosts -}}
{{- $_ := set $own "REDIS_SENTINEL_USERNAME" .sentinels.username -}}
{{- end -}}
{{- if .cluster }}{{ $_ := set $own "REDIS_CLUSTER" "true" }}{{ end -}}
{{- include "rms.merged" (list $own (mustFromJson (include "rms.storeTls" (dict "prefix" "REDIS" "tls" .tls)))) -}}
{{- end -}}
{{- end -}}

{{- define "rms.kafkaSettings" -}}
{{- with .Values.kafka -}}
{{- $settings := dict "KAFKA_BROKERS" .brokers "KAFKA_PREFIX" .prefix "EVENT_PARTITIONS" .partitions "EVENT_REPLICATION" .replication -}}
{{- $tls := dict -}}
{{- if .tls.enabled -}}
{{- $_ := set $settings "KAFKA_TLS" "true" -}}
{{- $tls = mustFromJson (include "rms.storeTls" (dict "prefix" "KAFKA" "tls" .tls)) -}}
{{- end -}}
{{- if ne .sasl.mechanism "none" -}}
{{- $_ := set $settings "KAFKA_SASL_MECHANISM" .sasl.mechanism -}}
{{- $_ := set $settings "KAFKA_SASL_USERNAME" .sasl.username -}}
{{- end -}}
{{- include "rms.merged" (list $settings $tls) -}}
{{- end -}}
{{- end -}}

{{/* The stores that each component uses. */}}
{{- define "rms.storeTable" -}}
{{- $alerts := list "database" "redis" "kafka" -}}
{{- if include "rms.hasMail" . }}{{ $alerts = append $alerts "smtp" }}{{ end -}}
{{- toJson (dict
  "gateway" (list "redis")
  "auth" (list "database" "redis")
  "resources" (list "database" "kafka")
  "webhooks" (list "database" "kafka")
  "alerts" $alerts
  "dashboard" (list "redis")
  "migrate" (list "database")
  "cli" list
  "test" list
  "tls" list
) -}}
{{- end -}}

{{/* The components that each component calls. */}}
{{- define "rms.callTable" -}}
{{- toJson (dict
  "gateway" (list "auth" "resources" "webhooks" "alerts")
  "webhooks" (list "auth" "alerts")
  "alerts" (list "auth")
  "dashboard" (list "auth" "resources" "webhooks" "alerts")
  "cli" (list "auth" "resources" "webhooks" "alerts")
  "test" (list "gateway" "auth" "webhooks")
) -}}
{{- end -}}

{{/* Settings of the addresses on which a component listens; dict root, name. */}}
{{- define "rms.listenSettings" -}}
{{- $host := .root.Values.network.bindAddress -}}
{{- $metrics := printf "%s:9464" (contains ":" $host | ternary (printf "[%s]" $host) $host) -}}
{{- if eq .name "cli" -}}
{{- toJson dict -}}
{{- else if eq .name "gateway" -}}
{{- toJson (dict "METRICS_ADDRESS" $metrics "HOST" $host "PORT" "8080" "SANDBOX_PORT" "8081") -}}
{{- else if eq .name "dashboard" -}}
{{- toJson (dict "METRICS_ADDRESS" $metrics "HOST" $host "DASHBOARD_PORT" "8090") -}}
{{- else -}}
{{- toJson (dict "METRICS_ADDRESS" $metrics "GRPC_HOST" $host "GRPC_PORT" "9090") -}}
{{- end -}}
{{- end -}}

{{/* Settings of other components whose values the dashboard states, as a list of maps. */}}
{{- define "rms.statedSettings" -}}
{{- $all := list -}}
{{- range $component, $names := dict
  "gateway" (list "RATE_LIMIT_REQUESTS" "WORKSPACE_RATE_LIMIT_REQUESTS" "RATE_LIMIT_WINDOW_SECONDS" "MONTHLY_QUOTA" "REQUEST_LOG")
  "auth" (list "MAX_KEYS_PER_WORKSPACE" "MAX_MEMBERS_PER_WORKSPACE" "MAX_INVITATIONS_PER_WORKSPACE" "REQUEST_LOG_DAYS")
  "webhooks" (list "MAX_WEBHOOKS_PER_WORKSPACE" "LOG_RETENTION_DAYS" "WEBHOOK_DISABLE_AFTER_HOURS")
-}}
{{- $stated := dict -}}
{{- range $name, $value := default dict (index $.Values $component).settings -}}
{{- if has $name $names }}{{ $_ := set $stated $name $value }}{{ end -}}
{{- end -}}
{{- $all = append $all $stated -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* Environment variables of a component, without its secrets, as a map of texts; dict root, name. */}}
{{- define "rms.settings" -}}
{{- $values := .root.Values -}}
{{- $stores := index (mustFromJson (include "rms.storeTable" .root)) .name -}}
{{- $settings := mustFromJson (include "rms.listenSettings" .) -}}
{{- $more := list -}}
{{- if ne .name "cli" -}}
{{- $_ := set $settings "LOG_LEVEL_FILE" "/run/rms/log/level" -}}
{{- $more = append $more (mustFromJson (include "rms.secretFiles" .)) -}}
{{- end -}}
{{- if has .name (list "gateway" "dashboard") -}}
{{- $_ := set $settings "TRUSTED_PROXIES" (join "," $values.gateway.trustedProxies) -}}
{{- if not $values.gateway.trustedProxies -}}
{{- /* The address of a connection can be that of an ingress or a load balancer, with the connections of all clients. */ -}}
{{- $_ := set $settings "MAX_CONNECTIONS_PER_ADDRESS" "0" -}}
{{- end -}}
{{- end -}}
{{- if eq .name "gateway" -}}
{{- $_ := set $settings "PUBLIC_API_URL" $values.gateway.publicUrls.live -}}
{{- $_ := set $settings "PUBLIC_SANDBOX_URL" $values.gateway.publicUrls.sandbox -}}
{{- $_ := set $settings "ERROR_CATALOG_URL" $values.gateway.errorCatalogUrl -}}
{{- else if eq .name "dashboard" -}}
{{- $_ := set $settings "PUBLIC_API_URL" (include "rms.publicUrl" (dict "root" .root "given" $values.gateway.publicUrls.live "host" $values.ingress.hosts.live)) -}}
{{- $_ := set $settings "PUBLIC_SANDBOX_URL" (include "rms.publicUrl" (dict "root" .root "given" $values.gateway.publicUrls.sandbox "host" $values.ingress.hosts.sandbox)) -}}
{{- $_ := set $settings "PORTAL_FRAME_ANCESTORS" (join "," $values.dashboard.portalFrameAncestors) -}}
{{- with $values.dashboard.oidc -}}
{{- if .issuer -}}
{{- $more = append $more (dict "OIDC_ISSUER" .issuer "OIDC_CLIENT_ID" .clientId "OIDC_NAME" .name) -}}
{{- $more = append $more (dict "OIDC_EMAIL_CLAIM" .emailClaim "OIDC_EMAIL_TRUST" .emailTrust "OIDC_SIGN_OUT" .signOut) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range default list (index (mustFromJson (include "rms.callTable" .root)) .name) -}}
{{- $target := printf "dns:///%s-%s:9090" (include "rms.fullname" $.root) . -}}
{{- $_ := set $settings (printf "%s_ADDRESS" (upper .)) ((index $values .).enabled | ternary $target "none") -}}
{{- end -}}
{{- if has .name (list "alerts" "dashboard" "gateway") -}}
{{- $_ := set $settings "DASHBOARD_URL" (include "rms.publicUrl" (dict "root" .root "given" $values.dashboard.publicUrl "host" $values.ingress.hosts.dashboard)) -}}
{{- end -}}
{{- if eq $values.tls.mode "none" -}}
{{- $_ := set $settings "INSECURE_GRPC" "true" -}}
{{- else -}}
{{- $more = append $more (dict "GRPC_CERT_FILE" "/run/rms/tls/tls.crt" "GRPC_KEY_FILE" "/run/rms/tls/tls.key" "GRPC_CA_FILE" "/run/rms/tls/ca.crt") -}}
{{- end -}}
{{- if has "database" $stores -}}
{{- $more = append $more (mustFromJson (include "rms.databaseSettings" .root)) -}}
{{- end -}}
{{- if has "redis" $stores -}}
{{- $more = append $more (mustFromJson (include "rms.redisSettings" .root)) -}}
{{- end -}}
{{- if has "kafka" $stores -}}
{{- $more = append $more (mustFromJson (include "rms.kafkaSettings" .root)) -}}
{{- end -}}
{{- if has "smtp" $stores -}}
{{- $_ := set $settings "EMAIL_FROM" $values.smtp.from -}}
{{- $_ := set $settings "SMTP_TLS" $values.smtp.startTls -}}
{{- $_ := set $settings "SMTP_EHLO_NAME" $values.smtp.ehloName -}}
{{- $more = append $more (mustFromJson (include "rms.storeTls" (dict "prefix" "SMTP" "tls" $values.smtp.tls))) -}}
{{- end -}}
{{- /* webhooks and alerts enforce these rules; the OpenAPI document of the gateway and the dashboard describe them. */ -}}
{{- if has .name (list "webhooks" "alerts" "gateway" "dashboard") -}}
{{- $_ := set $settings "WEBHOOK_ALLOW_CIDRS" (join "," $values.webhooks.egress.allowCidrs) -}}
{{- $_ := set $settings "WEBHOOK_ALLOW_HTTP" $values.webhooks.egress.allowHttp -}}
{{- end -}}
{{- if and $values.observability.otlp.endpoint (ne .name "cli") -}}
{{- with $values.observability -}}
{{- $more = append $more (dict "OTEL_SERVICE_NAME" (printf "rms-%s" $.name) "OTEL_EXPORTER_OTLP_ENDPOINT" .otlp.endpoint "OTEL_EXPORTER_OTLP_PROTOCOL" .otlp.protocol) -}}
{{- $more = append $more (dict "OTEL_TRACES_SAMPLER" .sampler "OTEL_TRACES_SAMPLER_ARG" .samplerArg "OTEL_RESOURCE_ATTRIBUTES" .resourceAttributes) -}}
{{- end -}}
{{- end -}}
{{- $all := concat (list $settings) $more (list $values.settings) -}}
{{- if eq .name "alerts" -}}
{{- /* Channels obey all rules of webhooks, also those that only webhooks has. */ -}}
{{- range $setting, $value := default dict $values.webhooks.settings -}}
{{- if hasPrefix "WEBHOOK_" $setting }}{{ $all = append $all (dict $setting $value) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if eq .name "dashboard" -}}
{{- $all = concat $all (mustFromJson (include "rms.statedSettings" .root)) -}}
{{- end -}}
{{- $all = append $all (index $values .name).settings -}}
{{- $texts := dict -}}
{{- range $setting, $value := mustFromJson (include "rms.merged" $all) -}}
{{- $_ := set $texts $setting (include "rms.text" $value) -}}
{{- end -}}
{{- toJson $texts -}}
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

{{/* Content of the chart's own Secret: secrets given as inline values. */}}
{{- define "rms.ownSecretData" -}}
{{- $data := dict -}}
{{- range $setting, $secret := mustFromJson (include "rms.secretTable" .) -}}
{{- if $secret.source.value }}{{ $_ := set $data $secret.key $secret.source.value }}{{ end -}}
{{- end -}}
{{- with .Values.observability.otlp.headers.value }}{{ $_ := set $data "otlp-headers" . }}{{ end -}}
{{- toJson $data -}}
{{- end -}}
