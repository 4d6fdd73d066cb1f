{{/* The Deployment of a component; dict root, name. */}}
{{- define "rms.deployment" }}
{{- $component := index .root.Values .name }}
{{- $fullname := include "rms.fullname" .root }}
{{- $scaled := or $component.autoscaling.enabled $component.keda.enabled }}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{- include "rms.metadata" (dict "root" .root "name" .name "annotations" $component.annotations) | nindent 2 }}
spec:
  {{- if not $scaled }}
  replicas: {{ int64 $component.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  selector:
    matchLabels: {{- include "rms.selectorLabels" . | nindent 6 }}
  strategy: {{ include "rms.json" $component.strategy }}
  template:
    metadata:
      labels: {{- include "rms.podLabels" . | mustFromJson | include "rms.pairs" | nindent 8 }}
      annotations: {{- include "rms.podAnnotations" . | mustFromJson | include "rms.pairs" | nindent 8 }}
    spec:
      serviceAccountName: {{ include "rms.quote" (include "rms.serviceAccountName" .) }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- include "rms.pullSecrets" .root | nindent 6 }}
      securityContext: {{ include "rms.json" .root.Values.podSecurityContext }}
      terminationGracePeriodSeconds: {{ int64 $component.terminationGracePeriodSeconds }}
      {{- with $component.priorityClassName }}
      priorityClassName: {{ include "rms.quote" . }}
      {{- end }}
      {{- with $component.nodeSelector }}
      nodeSelector: {{- include "rms.pairs" . | nindent 8 }}
      {{- end }}
      {{- with $component.tolerations }}
      tolerations: {{ include "rms.json" . }}
      {{- end }}
      {{- with $component.affinity }}
      affinity: {{ include "rms.json" . }}
      {{- end }}
      topologySpreadConstraints:
        {{- if $component.topologySpreadConstraints }}
        {{- include "rms.items" $component.topologySpreadConstraints | nindent 8 }}
        {{- else }}
        {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "rms.selectorLabels" $ | nindent 14 }}
          # Count only pods of this revision: otherwise terminating pods of the previous one count during an update.
          matchLabelKeys: [pod-template-hash]
        {{- end }}
        {{- end }}
      {{- with $component.extraInitContainers }}
      initContainers: {{ include "rms.json" . }}
      {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "rms.quote" (include "rms.image" .root) }}
          imagePullPolicy: {{ include "rms.quote" .root.Values.image.pullPolicy }}
          {{- include "rms.command" . | nindent 10 }}
          securityContext: {{ include "rms.json" .root.Values.securityContext }}
          {{- include "rms.containerEnvironment" . | nindent 10 }}
          {{- include "rms.ports" . | nindent 10 }}
          {{- include "rms.probes" . | nindent 10 }}
          {{- if ne .name "cli" }}
          lifecycle:
            preStop: { sleep: { seconds: {{ int64 $component.preStopSeconds }} } }
          {{- end }}
          resources: {{ include "rms.json" $component.resources }}
          volumeMounts:
            {{- include "rms.mounts" . | nindent 12 }}
            {{- with $component.extraVolumeMounts }}
            {{- include "rms.items" . | nindent 12 }}
            {{- end }}
        {{- with $component.extraContainers }}
        {{- include "rms.items" . | nindent 8 }}
        {{- end }}
      volumes:
        {{- include "rms.volumes" . | nindent 8 }}
        {{- with $component.extraVolumes }}
        {{- include "rms.items" . | nindent 8 }}
        {{- end }}
{{- end -}}

{{/* Labels and annotations of a component's pods, as JSON; dict root, name. */}}
{{- define "rms.podLabels" -}}
{{- $own := merge (dict "app.kubernetes.io/version" .root.Chart.AppVersion) (mustFromJson (include "rms.selectorLabelMap" .)) -}}
{{- include "rms.merged" (list .root.Values.commonLabels (index .root.Values .name).podLabels $own) -}}
{{- end -}}

{{- define "rms.podAnnotations" -}}
{{- $own := dict
  "checksum/settings" (include "rms.settings" . | sha256sum)
  "checksum/secrets" (include "rms.ownSecretData" .root | sha256sum)
  "kubectl.kubernetes.io/default-container" .name
-}}
{{- include "rms.merged" (list .root.Values.commonAnnotations $own (index .root.Values .name).podAnnotations) -}}
{{- end -}}

{{- define "rms.command" -}}
{{- if eq .name "cli" -}}
# Idles, so that `kubectl exec` can run commands in the pod.
command: [node, -e, "process.on('SIGTERM', () => process.exit()); setInterval(() => {}, 2 ** 30)"]
{{- else -}}
command: [{{ .name }}]
{{- end -}}
{{- end -}}

{{- define "rms.containerEnvironment" -}}
{{- $component := index .root.Values .name -}}
{{- $headers := .root.Values.observability.otlp.headers -}}
{{- $hasHeaders := and (ne .name "cli") (or $headers.value $headers.existingSecretKey) -}}
envFrom:
  - configMapRef: { name: {{ include "rms.quote" (printf "%s-%s" (include "rms.fullname" .root) .name) }} }
  {{- with $component.extraEnvFrom }}
  {{- include "rms.items" . | nindent 2 }}
  {{- end }}
{{- if or $hasHeaders $component.extraEnv }}
env:
  {{- if $hasHeaders }}
  - name: OTEL_EXPORTER_OTLP_HEADERS
    valueFrom:
      secretKeyRef:
        name: {{ include "rms.quote" (include "rms.secretName" (dict "root" .root "source" $headers "own" (printf "%s-settings" (include "rms.fullname" .root)))) }}
        key: {{ include "rms.quote" (ternary "otlp-headers" $headers.existingSecretKey (ne $headers.value "")) }}
  {{- end }}
  {{- with $component.extraEnv }}
  {{- include "rms.items" . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "rms.ports" -}}
{{- if ne .name "cli" -}}
ports:
  {{- if eq .name "gateway" }}
  - { name: live, containerPort: 8080 }
  - { name: sandbox, containerPort: 8081 }
  {{- else if eq .name "dashboard" }}
  - { name: http, containerPort: 8090 }
  {{- else }}
  - { name: grpc, containerPort: 9090 }
  {{- end }}
  - { name: metrics, containerPort: 9464 }
{{- end -}}
{{- end -}}

{{/*
startupProbe: succeeds once every dependency has been available, so that an update with wrong settings stops.
readinessProbe: succeeds while the pod accepts calls. An outage of a dependency that all pods share (database, Kafka)
does not count, because no other pod could serve the calls either.
*/}}
{{- define "rms.probes" -}}
{{- if ne .name "cli" -}}
{{- $component := index .root.Values .name -}}
{{- $get := dict "port" "metrics" -}}
startupProbe: {{ include "rms.json" (merge (dict) $component.startupProbe (dict "httpGet" (merge (dict "path" "/readyz") $get) "periodSeconds" 2 "timeoutSeconds" 3 "failureThreshold" 300)) }}
readinessProbe: {{ include "rms.json" (merge (dict) $component.readinessProbe (dict "httpGet" (merge (dict "path" "/readyz/calls") $get) "periodSeconds" 5 "timeoutSeconds" 2 "failureThreshold" 2)) }}
livenessProbe: {{ include "rms.json" (merge (dict) $component.livenessProbe (dict "httpGet" (merge (dict "path" "/livez") $get) "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 6)) }}
{{- end -}}
{{- end -}}
