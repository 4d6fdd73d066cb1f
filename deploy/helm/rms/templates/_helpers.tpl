{{/* Prefix of all object names. */}}
{{- define "rms.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels that select the pods of a component; dict root, name (the component). */}}
{{- define "rms.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .name }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "rms.labels" -}}
{{ include "rms.selectorLabels" . }}
app.kubernetes.io/part-of: rms
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with merge (dict) (default dict .labels) .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Name, labels and annotations of an object; dict root, name, suffix (of the name), labels, annotations. */}}
{{- define "rms.metadata" -}}
name: {{ printf "%s-%s" (include "rms.fullname" .root) (default .name .suffix) }}
namespace: {{ .root.Release.Namespace }}
labels: {{- include "rms.labels" . | nindent 2 }}
{{- with merge (dict) (default dict .annotations) .root.Values.commonAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "rms.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.Chart.AppVersion .tag }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "rms.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "rms.serviceAccountName" -}}
{{- $account := (index .root.Values .name).serviceAccount -}}
{{- if $account.create }}{{ default (printf "%s-%s" (include "rms.fullname" .root) .name) $account.name }}{{ else }}{{ default "default" $account.name }}{{ end -}}
{{- end -}}

{{/* The enabled components, as a list. */}}
{{- define "rms.components" -}}
{{- $found := list -}}
{{- range $name := list "gateway" "auth" "resources" "webhooks" "alerts" "dashboard" "cli" -}}
{{- if (index $.Values $name).enabled }}{{ $found = append $found $name }}{{ end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* The name in a component's certificate, by which other components identify it. */}}
{{- define "rms.callerName" -}}
{{- if eq . "cli" }}rms{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{/* DNS names of a component's certificate, as a list; dict root, name. */}}
{{- define "rms.certificateNames" -}}
{{- $service := printf "%s-%s" (include "rms.fullname" .root) .name -}}
{{- $namespace := .root.Release.Namespace -}}
{{- toJson (list (include "rms.callerName" .name) $service (printf "%s.%s" $service $namespace) (printf "%s.%s.svc" $service $namespace)) -}}
{{- end -}}

{{/* The Secret of a component's certificate; dict root, name. */}}
{{- define "rms.tlsSecret" -}}
{{- if eq .root.Values.tls.mode "existingSecrets" -}}
{{- index .root.Values.tls.existingSecrets .name -}}
{{- else -}}
{{- printf "%s-tls-%s" (include "rms.fullname" .root) .name -}}
{{- end -}}
{{- end -}}
