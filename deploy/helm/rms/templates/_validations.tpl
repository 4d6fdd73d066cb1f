{{/* Fails with one line per contradiction; each line names the value to set. */}}
{{- define "rms.validate" -}}
{{- $problems := list -}}
{{- range $setting, $secret := mustFromJson (include "rms.secretTable" .) -}}
{{- $problems = concat $problems (mustFromJson (include "rms.validateSecret" (dict "root" $ "source" $secret.source "where" $secret.where))) -}}
{{- end -}}
{{- $migration := .Values.database.migrationUrl -}}
{{- if or $migration.value $migration.existingSecret $migration.existingSecretKey -}}
{{- $problems = concat $problems (mustFromJson (include "rms.validateSecret" (dict "root" $ "source" $migration "where" "database.migrationUrl"))) -}}
{{- end -}}
{{- if not .Values.kafka.brokers -}}
{{- $problems = append $problems "kafka.brokers: set the addresses of the brokers, \"host:port,host:port\"" -}}
{{- end -}}
{{- if and .Values.redis.sentinels.hosts .Values.redis.cluster -}}
{{- $problems = append $problems "redis.cluster: excludes redis.sentinels" -}}
{{- end -}}
{{- with .Values.redis.sentinels -}}
{{- if and (not .hosts) (or .username .password.value .password.existingSecretKey) -}}
{{- $problems = append $problems "redis.sentinels.hosts: required by redis.sentinels.username and password" -}}
{{- end -}}
{{- end -}}
{{- if and (ne .Values.kafka.sasl.mechanism "none") (not .Values.kafka.sasl.username) -}}
{{- $problems = append $problems "kafka.sasl.username: required by kafka.sasl.mechanism" -}}
{{- end -}}
{{- if and (eq .Values.kafka.sasl.mechanism "none") (or .Values.kafka.sasl.username .Values.kafka.sasl.password.value) -}}
{{- $problems = append $problems "kafka.sasl.mechanism: is none, but a username or password is set; use plain, scram-sha-256 or scram-sha-512" -}}
{{- end -}}
{{- if and .Values.kafka.tls.existingSecret (not .Values.kafka.tls.enabled) -}}
{{- $problems = append $problems "kafka.tls.enabled: must be true if kafka.tls.existingSecret is set" -}}
{{- end -}}
{{- range $store := list "database" "redis" "kafka" -}}
{{- $tls := (index $.Values $store).tls -}}
{{- if ne (empty $tls.certKey) (empty $tls.keyKey) -}}
{{- $problems = append $problems (printf "%s.tls: certKey and keyKey require each other; set both or neither" $store) -}}
{{- end -}}
{{- if and $tls.certKey (not $tls.existingSecret) -}}
{{- $problems = append $problems (printf "%s.tls.existingSecret: set the Secret that contains %s" $store $tls.certKey) -}}
{{- end -}}
{{- end -}}
{{- if eq .Values.tls.mode "existingSecrets" -}}
{{- range mustFromJson (include "rms.components" .) -}}
{{- if not (index $.Values.tls.existingSecrets .) -}}
{{- $problems = append $problems (printf "tls.existingSecrets.%s: set the Secret with its certificate, or set tls.mode to selfSigned or certManager" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not (or .Values.ingress.hosts.live .Values.ingress.hosts.sandbox .Values.ingress.hosts.dashboard)) -}}
{{- $problems = append $problems "ingress.hosts: set live and sandbox, or ingress.enabled to false" -}}
{{- end -}}
{{- if and .Values.ingress.hosts.live (eq .Values.ingress.hosts.live .Values.ingress.hosts.sandbox) -}}
{{- $problems = append $problems "ingress.hosts: live and sandbox must differ, because the host determines the environment" -}}
{{- end -}}
{{- if and .Values.ingress.hosts.dashboard (not .Values.dashboard.enabled) -}}
{{- $problems = append $problems "ingress.hosts.dashboard: must be empty, because dashboard.enabled is false" -}}
{{- end -}}
{{- if and .Values.dashboard.enabled (not .Values.alerts.enabled) -}}
{{- $problems = append $problems "alerts.enabled: the dashboard requires it for charts, invitations and password resets; enable it, or set dashboard.enabled to false" -}}
{{- end -}}
{{- if and (include "rms.hasMail" .) (not .Values.smtp.from) -}}
{{- $problems = append $problems "smtp.from: set the sender of emails, \"Name <address>\"" -}}
{{- end -}}
{{- if and (or .Values.smtp.from .Values.smtp.tls.existingSecret) (not (include "rms.hasMail" .)) -}}
{{- $problems = append $problems "smtp.url: set the Secret that contains it, or leave smtp.from and smtp.tls empty" -}}
{{- end -}}
{{- with .Values.dashboard.oidc -}}
{{- if and .issuer (not .clientId) -}}
{{- $problems = append $problems "dashboard.oidc.clientId: required by dashboard.oidc.issuer" -}}
{{- end -}}
{{- if and .issuer (not (include "rms.publicUrl" (dict "root" $ "given" $.Values.dashboard.publicUrl "host" $.Values.ingress.hosts.dashboard))) -}}
{{- $problems = append $problems "dashboard.publicUrl: required by dashboard.oidc for its redirect URI; set it, or ingress.hosts.dashboard" -}}
{{- end -}}
{{- if and (not .issuer) (or .clientId .clientSecret.value .clientSecret.existingSecret) -}}
{{- $problems = append $problems "dashboard.oidc.issuer: required by dashboard.oidc.clientId and clientSecret" -}}
{{- end -}}
{{- end -}}
{{- $hosts := compact (list .Values.ingress.hosts.live .Values.ingress.hosts.sandbox) -}}
{{- if has .Values.ingress.hosts.dashboard $hosts -}}
{{- $problems = append $problems "ingress.hosts.dashboard: must differ from live and sandbox" -}}
{{- end -}}
{{- with .Values.network -}}
{{- if and (eq .ipFamilyPolicy "SingleStack") (gt (len .ipFamilies) 1) -}}
{{- $problems = append $problems "network.ipFamilies: network.ipFamilyPolicy SingleStack permits one family" -}}
{{- end -}}
{{- if and (eq .ipFamilyPolicy "") (gt (len .ipFamilies) 1) -}}
{{- $problems = append $problems "network.ipFamilyPolicy: set PreferDualStack or RequireDualStack for two families" -}}
{{- end -}}
{{- if and (ne .bindAddress "::") (has "IPv6" .ipFamilies) -}}
{{- $problems = append $problems "network.bindAddress: must be \"::\" if network.ipFamilies contains IPv6" -}}
{{- end -}}
{{- end -}}
{{- range $name := mustFromJson (include "rms.components" .) -}}
{{- $problems = concat $problems (mustFromJson (include "rms.validateComponent" (dict "root" $ "name" $name))) -}}
{{- end -}}
{{- range $name := list "gateway" "auth" "resources" "webhooks" -}}
{{- if not (index $.Values $name).enabled -}}
{{- $problems = append $problems (printf "%s.enabled: must be true, because every installation requires it; to scale it, set %s.replicas" $name $name) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.webhooks.keda.enabled (gt (int .Values.webhooks.keda.maxReplicas) (int .Values.kafka.partitions)) (not .Values.webhooks.keda.triggers) -}}
{{- $problems = append $problems (printf "webhooks.keda.maxReplicas: more pods than kafka.partitions (%d) do not reduce the consumer lag; lower it, or set keda.triggers" (int .Values.kafka.partitions)) -}}
{{- end -}}
{{- if and (.Values.observability.otlp.headers.value) (not .Values.observability.otlp.endpoint) -}}
{{- $problems = append $problems "observability.otlp.endpoint: required by observability.otlp.headers" -}}
{{- end -}}
{{- if $problems -}}
{{- fail (printf "\n  %s" (join "\n  " ($problems | uniq))) -}}
{{- end -}}
{{- end -}}

{{- define "rms.validateSecret" -}}
{{- $problems := list -}}
{{- if and .source.value .source.existingSecret -}}
{{- $problems = append $problems (printf "%s: value and existingSecret are mutually exclusive" .where) -}}
{{- else if not (or .source.value .source.existingSecret .root.Values.existingSecret) -}}
{{- $problems = append $problems (printf "%s: set the Secret that contains it in existingSecret or %s.existingSecret" .where .where) -}}
{{- else if not (or .source.value .source.existingSecretKey) -}}
{{- $problems = append $problems (printf "%s.existingSecretKey: set its key in the Secret" .where) -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}

{{- define "rms.validateComponent" -}}
{{- $component := index .root.Values .name -}}
{{- $problems := list -}}
{{- if and $component.autoscaling.enabled $component.keda.enabled -}}
{{- $problems = append $problems (printf "%s: autoscaling and keda are mutually exclusive; enable only one" .name) -}}
{{- end -}}
{{- range $scaler := list "autoscaling" "keda" -}}
{{- $scaling := index $component $scaler -}}
{{- if and $scaling.enabled (gt (int $scaling.minReplicas) (int $scaling.maxReplicas)) -}}
{{- $problems = append $problems (printf "%s.%s: minReplicas must not exceed maxReplicas" $.name $scaler) -}}
{{- end -}}
{{- end -}}
{{- with $component.autoscaling -}}
{{- if and .enabled (not (or .targetCPU .targetMemory .metrics)) -}}
{{- $problems = append $problems (printf "%s.autoscaling: set targetCPU, targetMemory or metrics" $.name) -}}
{{- end -}}
{{- if and .enabled .targetCPU (not (dig "requests" "cpu" "" $component.resources)) -}}
{{- $problems = append $problems (printf "%s.resources.requests.cpu: required by autoscaling.targetCPU, which is a percentage of it" $.name) -}}
{{- end -}}
{{- end -}}
{{- if and $component.keda.enabled (ne .name "webhooks") (not $component.keda.triggers) -}}
{{- $problems = append $problems (printf "%s.keda.triggers: required; only webhooks has a default trigger" .name) -}}
{{- end -}}
{{- if and (eq .name "cli") (or $component.autoscaling.enabled $component.keda.enabled) -}}
{{- $problems = append $problems "cli: cannot be scaled; disable autoscaling and keda" -}}
{{- end -}}
{{- if and (ne .name "cli") (lt (int $component.terminationGracePeriodSeconds) (int (add $component.preStopSeconds 25))) -}}
{{- $problems = append $problems (printf "%s.terminationGracePeriodSeconds: a pod needs preStopSeconds plus 25 s to stop; set at least %d" .name (int (add $component.preStopSeconds 25))) -}}
{{- end -}}
{{- range $setting, $_ := merge (dict) $component.settings .root.Values.settings -}}
{{- with get (mustFromJson (include "rms.yamlToJson" (include "rms.elsewhere" $))) $setting -}}
{{- if eq . "internal" -}}
{{- $problems = append $problems (printf "settings.%s: remove it; the chart sets it" $setting) -}}
{{- else -}}
{{- $problems = append $problems (printf "settings.%s: set %s instead" $setting .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}

{{/* Settings that the chart sets, and the chart value to set instead; "internal": no chart value changes it. */}}
{{- define "rms.elsewhere" -}}
DATABASE_URL: database.url
DATABASE_POOL_SIZE: database.poolSize
DATABASE_ROLE_PREFIX: database.rolePrefix
DATABASE_CA_FILE: database.tls
DATABASE_CERT_FILE: database.tls
DATABASE_KEY_FILE: database.tls
REDIS_URL: redis.url
REDIS_SENTINELS: redis.sentinels.hosts
REDIS_SENTINEL_USERNAME: redis.sentinels.username
REDIS_SENTINEL_PASSWORD: redis.sentinels.password
REDIS_CLUSTER: redis.cluster
REDIS_CA_FILE: redis.tls
REDIS_CERT_FILE: redis.tls
REDIS_KEY_FILE: redis.tls
KAFKA_BROKERS: kafka.brokers
KAFKA_PREFIX: kafka.prefix
KAFKA_TLS: kafka.tls.enabled
KAFKA_CA_FILE: kafka.tls
KAFKA_CERT_FILE: kafka.tls
KAFKA_KEY_FILE: kafka.tls
KAFKA_SASL_MECHANISM: kafka.sasl.mechanism
KAFKA_SASL_USERNAME: kafka.sasl.username
KAFKA_SASL_PASSWORD: kafka.sasl.password
EVENT_PARTITIONS: kafka.partitions
EVENT_REPLICATION: kafka.replication
ENCRYPTION_KEY: encryption.key
ENCRYPTION_KEY_PREVIOUS: encryption.previousKeys
GRPC_HOST: network.bindAddress
GRPC_PORT: internal
GRPC_CERT_FILE: tls.mode
GRPC_KEY_FILE: tls.mode
GRPC_CA_FILE: tls.mode
GRPC_TOKEN: tls.mode
INSECURE_GRPC: tls.mode
HOST: network.bindAddress
PORT: internal
SANDBOX_PORT: internal
METRICS_ADDRESS: internal
AUTH_ADDRESS: internal
RESOURCES_ADDRESS: internal
WEBHOOKS_ADDRESS: internal
ALERTS_ADDRESS: alerts.enabled
DASHBOARD_PORT: internal
DASHBOARD_URL: dashboard.publicUrl
PORTAL_FRAME_ANCESTORS: dashboard.portalFrameAncestors
SESSION_KEY: dashboard.sessionKey
OIDC_ISSUER: dashboard.oidc.issuer
OIDC_CLIENT_ID: dashboard.oidc.clientId
OIDC_CLIENT_SECRET: dashboard.oidc.clientSecret
OIDC_NAME: dashboard.oidc.name
OIDC_EMAIL_CLAIM: dashboard.oidc.emailClaim
OIDC_EMAIL_TRUST: dashboard.oidc.emailTrust
OIDC_SIGN_OUT: dashboard.oidc.signOut
SMTP_URL: smtp.url
SMTP_CA_FILE: smtp.tls
EMAIL_FROM: smtp.from
SMTP_TLS: smtp.startTls
SMTP_EHLO_NAME: smtp.ehloName
LOG_LEVEL: logLevel
LOG_LEVEL_FILE: logLevel
TRUSTED_PROXIES: gateway.trustedProxies
PUBLIC_API_URL: gateway.publicUrls.live
PUBLIC_SANDBOX_URL: gateway.publicUrls.sandbox
ERROR_CATALOG_URL: gateway.errorCatalogUrl
WEBHOOK_ALLOW_CIDRS: webhooks.egress.allowCidrs
WEBHOOK_ALLOW_HTTP: webhooks.egress.allowHttp
WEBHOOK_PROXY_URL: webhooks.egress.proxyUrl
{{- end -}}
