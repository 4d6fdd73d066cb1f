{{/* Volumes and mounts of a component's containers; dict root, name. */}}
{{- define "rms.mounts" -}}
{{- $values := .root.Values -}}
{{- $stores := index (mustFromJson (include "rms.storeTable" .root)) .name -}}
{{- if ne $values.tls.mode "none" }}
- { name: tls, mountPath: /run/rms/tls, readOnly: true }
{{- end }}
{{- if ne (include "rms.secretSources" .) "[]" }}
- { name: secrets, mountPath: /run/rms/secrets, readOnly: true }
{{- end }}
{{- if not (has .name (list "cli" "migrate" "test")) }}
- { name: log, mountPath: /run/rms/log, readOnly: true }
{{- end }}
{{- range $store := $stores }}
{{- if (index $values $store).tls.existingSecret }}
- { name: {{ $store }}-tls, mountPath: /run/rms/{{ $store }}, readOnly: true }
{{- end }}
{{- end }}
{{- end -}}

{{- define "rms.volumes" -}}
{{- $values := .root.Values -}}
{{- $stores := index (mustFromJson (include "rms.storeTable" .root)) .name -}}
{{- $sources := include "rms.secretSources" . | mustFromJson -}}
{{- if ne $values.tls.mode "none" }}
- name: tls
  secret:
    secretName: {{ include "rms.quote" (include "rms.tlsSecret" .) }}
    defaultMode: 0440
    items: [{ key: tls.crt, path: tls.crt }, { key: tls.key, path: tls.key }, { key: ca.crt, path: ca.crt }]
{{- end }}
{{- if $sources }}
- name: secrets
  projected:
    defaultMode: 0440
    sources: {{ include "rms.json" $sources }}
{{- end }}
{{- if not (has .name (list "cli" "migrate" "test")) }}
- name: log
  configMap: { name: {{ include "rms.quote" (printf "%s-log" (include "rms.fullname" .root)) }} }
{{- end }}
{{- range $store := $stores }}
{{- with (index $values $store).tls.existingSecret }}
- name: {{ $store }}-tls
  secret: { secretName: {{ include "rms.quote" . }}, defaultMode: 0440 }
{{- end }}
{{- end }}
{{- end -}}
