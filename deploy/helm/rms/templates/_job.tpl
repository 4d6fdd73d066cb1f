{{/* Pod template shared by all Jobs; dict root, name, container (YAML of the rest of the container). */}}
{{- define "rms.jobPod" -}}
metadata:
  labels: {{- include "rms.labels" . | nindent 4 }}
  {{- with .root.Values.jobs.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  restartPolicy: Never
  serviceAccountName: {{ default "default" .serviceAccount }}
  automountServiceAccountToken: {{ ne (default "" .serviceAccount) "" }}
  enableServiceLinks: false
  {{- include "rms.pullSecrets" .root | nindent 2 }}
  securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 4 }}
  {{- include "rms.jobPlacement" .root | nindent 2 }}
  containers:
    - name: {{ .name }}
      image: {{ include "rms.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      securityContext: {{- toYaml .root.Values.securityContext | nindent 8 }}
      resources: {{- toYaml .root.Values.jobs.resources | nindent 8 }}
      {{- .container | nindent 6 }}
{{- end -}}

{{/* Node selector and tolerations of Jobs. */}}
{{- define "rms.jobPlacement" -}}
{{- with .Values.jobs.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.jobs.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
