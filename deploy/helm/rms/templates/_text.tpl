{{/*
Values as YAML. They arrive unchanged, whatever they contain: scalars are printed with rms.quote, maps of scalars with
rms.pairs, lists with rms.items, and other maps with rms.json. toYaml is not used, because indenting its result changes
strings with line breaks.

Helpers that return a map or a list print it with toJson, and their callers read it with mustFromJson, which fails the
render if the text is not JSON.
*/}}

{{/* A scalar as a quoted YAML string. */}}
{{- define "rms.quote" -}}
{{- include "rms.text" . | quote -}}
{{- end -}}

{{/* A scalar as text. Helm parses numbers as floats; toJson prints whole numbers without an exponent. */}}
{{- define "rms.text" -}}
{{- if kindIs "float64" . }}{{ toJson . }}{{ else if not (kindIs "invalid" .) }}{{ . }}{{ end -}}
{{- end -}}

{{/* A map of scalars, one quoted pair per line. */}}
{{- define "rms.pairs" -}}
{{- $lines := list -}}
{{- range $key, $value := . -}}
{{- $lines = append $lines (printf "%s: %s" (quote $key) (include "rms.quote" $value)) -}}
{{- end -}}
{{- join "\n" $lines -}}
{{- end -}}

{{/* The items of a list, one per line. */}}
{{- define "rms.items" -}}
{{- $lines := list -}}
{{- range . -}}
{{- $lines = append $lines (printf "- %s" (include "rms.json" .)) -}}
{{- end -}}
{{- join "\n" $lines -}}
{{- end -}}

{{/* Any value in one line of JSON, which is YAML, except for control characters that only JSON permits unescaped. */}}
{{- define "rms.json" -}}
{{- $json := toJson . -}}
{{- range $code := untilStep 127 160 1 -}}
{{- $json = replace (printf "%c" $code) (printf "\\u%04x" $code) $json -}}
{{- end -}}
{{- $json -}}
{{- end -}}

{{/* A list of maps as one map, as JSON. Later maps win, with empty values too; `merge` ignores those. */}}
{{- define "rms.merged" -}}
{{- $merged := dict -}}
{{- range . -}}
{{- range $key, $value := . -}}
{{- $_ := set $merged $key $value -}}
{{- end -}}
{{- end -}}
{{- toJson $merged -}}
{{- end -}}

{{/* A YAML text as JSON. Fails the render if the text cannot be parsed; fromYaml returns the error as a map. */}}
{{- define "rms.yamlToJson" -}}
{{- $parsed := fromYaml . -}}
{{- if hasKey $parsed "Error" }}{{ fail $parsed.Error }}{{ end -}}
{{- toJson $parsed -}}
{{- end -}}
