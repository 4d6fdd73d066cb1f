{{/* Pod template shared by all Jobs; dict root, name, container (YAML of the rest of the container). */}}
{{- define "rms.jobPod" -}}
metadata:
  labels: {{- include "rms.labelMap" . | mustFromJson | include "rms.pairs" | nindent 4 }}
  {{- with .root.Values.jobs.podAnnotations }}
  annotations: {{- include "rms.pairs" . | nindent 4 }}
  {{- end }}
spec:
  restartPolicy: Never
  serviceAccountName: {{ include "rms.quote" (default "default" .serviceAccount) }}
  automountServiceAccountToken: {{ ne (default "" .serviceAccount) "" }}
  enableServiceLinks: false
  {{- include "rms.pullSecrets" .root | nindent 2 }}
  securityContext: {{ include "rms.json" .root.Values.podSecurityContext }}
  {{- include "rms.jobPlacement" .root | nindent 2 }}
  containers:
    - name: {{ .name }}
      image: {{ include "rms.quote" (include "rms.image" .root) }}
      imagePullPolicy: {{ include "rms.quote" .root.Values.image.pullPolicy }}
      securityContext: {{ include "rms.json" .root.Values.securityContext }}
      resources: {{ include "rms.json" .root.Values.jobs.resources }}
      {{- .container | nindent 6 }}
{{- end -}}

{{/* Node selector and tolerations of Jobs. */}}
{{- define "rms.jobPlacement" -}}
{{- with .Values.jobs.nodeSelector }}
nodeSelector: {{- include "rms.pairs" . | nindent 2 }}
{{- end }}
{{- with .Values.jobs.tolerations }}
tolerations: {{ include "rms.json" . }}
{{- end }}
{{- end -}}
