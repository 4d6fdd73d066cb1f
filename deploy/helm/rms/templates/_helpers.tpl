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

{{/* Labels that select the pods of a component, as JSON; dict root, name (the component). */}}
{{- define "rms.selectorLabelMap" -}}
{{- $name := default .root.Chart.Name .root.Values.nameOverride -}}
{{- $labels := dict "app.kubernetes.io/name" $name "app.kubernetes.io/instance" .root.Release.Name -}}
{{- with .name }}{{ $_ := set $labels "app.kubernetes.io/component" . }}{{ end -}}
{{- toJson $labels -}}
{{- end -}}

{{- define "rms.selectorLabels" -}}
{{- include "rms.selectorLabelMap" . | mustFromJson | include "rms.pairs" -}}
{{- end -}}

{{/* Labels of an object, as JSON; dict root, name, labels (of this object). */}}
{{- define "rms.labelMap" -}}
{{- $chart := printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" -}}
{{- $own := dict "app.kubernetes.io/part-of" "rms" "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/managed-by" .root.Release.Service "helm.sh/chart" $chart -}}
{{- include "rms.merged" (list .root.Values.commonLabels .labels $own (mustFromJson (include "rms.selectorLabelMap" .))) -}}
{{- end -}}

{{/*
Name, labels and annotations of an object; dict root, name (the component), suffix (of the object's name, default: name),
fullname (instead of prefix and suffix), labels, annotations.
*/}}
{{- define "rms.metadata" -}}
{{- $name := default (printf "%s-%s" (include "rms.fullname" .root) (default .name .suffix)) .fullname -}}
name: {{ include "rms.quote" $name }}
namespace: {{ include "rms.quote" .root.Release.Namespace }}
labels: {{- include "rms.labelMap" . | mustFromJson | include "rms.pairs" | nindent 2 }}
{{- with mustFromJson (include "rms.merged" (list .root.Values.commonAnnotations .annotations)) }}
annotations: {{- include "rms.pairs" . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "rms.image" -}}
{{- $tag := include "rms.text" .Values.image.tag -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.Chart.AppVersion $tag }}{{ end -}}
{{- end -}}
{{- end -}}

{{- define "rms.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- range . }}
  - name: {{ include "rms.quote" . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "rms.serviceAccountName" -}}
{{- $account := (index .root.Values .name).serviceAccount -}}
{{- if $account.create }}{{ default (printf "%s-%s" (include "rms.fullname" .root) .name) $account.name }}{{ else }}{{ default "default" $account.name }}{{ end -}}
{{- end -}}

{{/* The enabled components, as a JSON list. */}}
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

{{/* DNS names of a component's certificate, as a JSON list; dict root, name. */}}
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
