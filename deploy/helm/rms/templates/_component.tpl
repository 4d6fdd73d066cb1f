{{/* All objects of an enabled component; dict root, name. */}}
{{- define "rms.component" -}}
{{- $component := index .root.Values .name -}}
{{- if $component.enabled -}}
{{- include "rms.configMap" . }}
{{- include "rms.serviceAccount" . }}
{{- include "rms.deployment" . }}
{{- if ne .name "cli" }}
{{- include "rms.service" . }}
{{- end }}
{{- include "rms.scaling" . }}
{{- include "rms.disruptionBudget" . }}
{{- end -}}
{{- end -}}

{{- define "rms.configMap" }}
---
apiVersion: v1
kind: ConfigMap
metadata: {{- include "rms.metadata" . | nindent 2 }}
data: {{- include "rms.settings" . | mustFromJson | include "rms.pairs" | nindent 2 }}
{{- end -}}

{{- define "rms.serviceAccount" }}
{{- $account := (index .root.Values .name).serviceAccount }}
{{- if $account.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "rms.metadata" (dict "root" .root "name" .name "fullname" (include "rms.serviceAccountName" .) "annotations" $account.annotations) | nindent 2 }}
automountServiceAccountToken: false
{{- end }}
{{- end -}}

{{- define "rms.service" }}
{{- $service := (index .root.Values .name).service }}
---
apiVersion: v1
kind: Service
metadata: {{- include "rms.metadata" (dict "root" .root "name" .name "annotations" $service.annotations) | nindent 2 }}
spec:
  {{- if has .name (list "gateway" "dashboard") }}
  type: {{ include "rms.quote" $service.type }}
  {{- else }}
  # Headless: clients resolve every pod and balance their calls over them.
  clusterIP: None
  {{- end }}
  {{- with .root.Values.network.ipFamilyPolicy }}
  ipFamilyPolicy: {{ include "rms.quote" . }}
  {{- end }}
  {{- with .root.Values.network.ipFamilies }}
  ipFamilies: {{ include "rms.json" . }}
  {{- end }}
  selector: {{- include "rms.selectorLabels" . | nindent 4 }}
  ports:
    {{- if eq .name "gateway" }}
    - { name: live, port: 8080, targetPort: live, appProtocol: http }
    - { name: sandbox, port: 8081, targetPort: sandbox, appProtocol: http }
    {{- else if eq .name "dashboard" }}
    - { name: http, port: 8090, targetPort: http, appProtocol: http }
    {{- else }}
    - { name: grpc, port: 9090, targetPort: grpc, appProtocol: grpc }
    {{- end }}
    - { name: metrics, port: 9464, targetPort: metrics, appProtocol: http }
{{- end -}}

{{- define "rms.scaling" }}
{{- $component := index .root.Values .name }}
{{- with $component.autoscaling }}
{{- if .enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{- include "rms.metadata" $ | nindent 2 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ include "rms.quote" (printf "%s-%s" (include "rms.fullname" $.root) $.name) }} }
  minReplicas: {{ int64 .minReplicas }}
  maxReplicas: {{ int64 .maxReplicas }}
  metrics:
    {{- with .targetCPU }}
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: {{ int64 . }} } }
    {{- end }}
    {{- with .targetMemory }}
    - type: Resource
      resource: { name: memory, target: { type: Utilization, averageUtilization: {{ int64 . }} } }
    {{- end }}
    {{- with .metrics }}
    {{- include "rms.items" . | nindent 4 }}
    {{- end }}
  {{- with .behavior }}
  behavior: {{ include "rms.json" . }}
  {{- end }}
{{- end }}
{{- end }}
{{- with $component.keda }}
{{- if .enabled }}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {{- include "rms.metadata" $ | nindent 2 }}
spec:
  scaleTargetRef: { name: {{ include "rms.quote" (printf "%s-%s" (include "rms.fullname" $.root) $.name) }} }
  minReplicaCount: {{ int64 .minReplicas }}
  maxReplicaCount: {{ int64 .maxReplicas }}
  pollingInterval: {{ int64 .pollingInterval }}
  cooldownPeriod: {{ int64 .cooldownPeriod }}
  triggers:
    {{- if .triggers }}
    {{- include "rms.items" .triggers | nindent 4 }}
    {{- else }}
    {{- include "rms.kafkaTrigger" $ | nindent 4 }}
    {{- end }}
{{- include "rms.kedaAuthentication" $ }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "rms.disruptionBudget" }}
{{- with (index .root.Values .name).podDisruptionBudget }}
{{- if .enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{- include "rms.metadata" $ | nindent 2 }}
spec:
  maxUnavailable: {{ toJson .maxUnavailable }}
  # A pod that is not ready serves no requests, so it does not block the drain of its node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "rms.selectorLabels" $ | nindent 6 }}
{{- end }}
{{- end }}
{{- end -}}
