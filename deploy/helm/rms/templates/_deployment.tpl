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
  replicas: {{ $component.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  selector:
    matchLabels: {{- include "rms.selectorLabels" . | nindent 6 }}
  strategy: {{- toYaml $component.strategy | nindent 4 }}
  template:
    metadata:
      labels: {{- include "rms.selectorLabels" . | nindent 8 }}
        app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
        {{- with merge (dict) $component.podLabels .root.Values.commonLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        checksum/settings: {{ include "rms.configMapData" . | sha256sum }}
        checksum/secrets: {{ include "rms.ownSecretData" .root | sha256sum }}
        kubectl.kubernetes.io/default-container: {{ .name }}
        {{- with merge (dict) $component.podAnnotations .root.Values.commonAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "rms.serviceAccountName" . }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- include "rms.pullSecrets" .root | nindent 6 }}
      securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 8 }}
      terminationGracePeriodSeconds: {{ $component.terminationGracePeriodSeconds }}
      {{- with $component.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $component.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $component.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $component.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- if $component.topologySpreadConstraints }}
        {{- toYaml $component.topologySpreadConstraints | nindent 8 }}
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
      initContainers: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .name }}
          image: {{ include "rms.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          {{- include "rms.command" . | nindent 10 }}
          securityContext: {{- toYaml .root.Values.securityContext | nindent 12 }}
          {{- include "rms.containerEnvironment" . | nindent 10 }}
          {{- include "rms.ports" . | nindent 10 }}
          {{- include "rms.probes" . | nindent 10 }}
          {{- if ne .name "cli" }}
          lifecycle:
            preStop: { sleep: { seconds: {{ $component.preStopSeconds }} } }
          {{- end }}
          resources: {{- toYaml $component.resources | nindent 12 }}
          volumeMounts:
            {{- include "rms.mounts" . | nindent 12 }}
            {{- with $component.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
        {{- with $component.extraContainers }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      volumes:
        {{- include "rms.volumes" . | nindent 8 }}
        {{- with $component.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
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
  - configMapRef: { name: {{ include "rms.fullname" .root }}-{{ .name }} }
  {{- with $component.extraEnvFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- if or $hasHeaders $component.extraEnv }}
env:
  {{- if $hasHeaders }}
  - name: OTEL_EXPORTER_OTLP_HEADERS
    valueFrom:
      secretKeyRef:
        name: {{ include "rms.secretName" (dict "root" .root "source" $headers "own" (printf "%s-settings" (include "rms.fullname" .root))) }}
        key: {{ ternary "otlp-headers" $headers.existingSecretKey (ne $headers.value "") }}
  {{- end }}
  {{- with $component.extraEnv }}
  {{- toYaml . | nindent 2 }}
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
startupProbe: {{- toYaml (merge (dict) $component.startupProbe (dict "httpGet" (merge (dict "path" "/readyz") $get) "periodSeconds" 2 "timeoutSeconds" 3 "failureThreshold" 300)) | nindent 2 }}
readinessProbe: {{- toYaml (merge (dict) $component.readinessProbe (dict "httpGet" (merge (dict "path" "/readyz/calls") $get) "periodSeconds" 5 "timeoutSeconds" 2 "failureThreshold" 2)) | nindent 2 }}
livenessProbe: {{- toYaml (merge (dict) $component.livenessProbe (dict "httpGet" (merge (dict "path" "/livez") $get) "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 6)) | nindent 2 }}
{{- end -}}
{{- end -}}
