{{/* Network policy of a component: its callers and the destinations of its calls; dict root, name. */}}
{{- define "rms.networkPolicy" }}
{{- $component := default (dict "extraIngress" list "extraEgress" list) (index .root.Values .name) }}
{{- $isService := has .name (list "gateway" "auth" "resources" "webhooks" "alerts" "dashboard") }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{- include "rms.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels: {{- include "rms.selectorLabels" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  {{- $ingress := include "rms.ingressRules" . | trim }}
  {{- if or $ingress $component.extraIngress }}
  ingress:
    {{- with $ingress }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with $component.extraIngress }}
    {{- include "rms.items" . | nindent 4 }}
    {{- end }}
  {{- else }}
  ingress: []
  {{- end }}
  egress:
    {{- include "rms.egressRules" . | trim | nindent 4 }}
    {{- with $component.extraEgress }}
    {{- include "rms.items" . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- define "rms.ingressRules" -}}
{{- $policy := .root.Values.networkPolicy }}
{{- $callers := list }}
{{- range $caller, $targets := mustFromJson (include "rms.callTable" .root) }}
{{- if and (has $.name $targets) (or (eq $caller "test") (index $.root.Values $caller).enabled) }}
{{- $callers = append $callers $caller }}
{{- end }}
{{- end }}
{{- if $callers }}
- from:
    {{- range $callers }}
    {{- include "rms.ownPeer" (dict "root" $.root "name" .) | nindent 4 }}
    {{- end }}
  ports: {{- include "rms.servingPorts" .name | nindent 4 }}
{{- end }}
{{- if has .name (list "gateway" "dashboard") }}
- {{ with $policy.ingressPeers }}from: {{ include "rms.json" . }}
  {{ end }}ports: {{- include "rms.servingPorts" .name | nindent 4 }}
{{- end }}
{{- if has .name (list "gateway" "auth" "resources" "webhooks" "alerts" "dashboard") }}
{{- with $policy.metricsPeers }}
- from: {{ include "rms.json" . }}
  ports: [{ port: 9464, protocol: TCP }]
{{- end }}
{{- end }}
{{- end -}}

{{- define "rms.egressRules" -}}
{{- $values := .root.Values }}
- to: {{ include "rms.json" $values.networkPolicy.dnsPeers }}
  ports:
    {{- range $values.networkPolicy.dnsPorts }}
    - { port: {{ int64 . }}, protocol: UDP }
    - { port: {{ int64 . }}, protocol: TCP }
    {{- end }}
{{- range default list (index (mustFromJson (include "rms.callTable" .root)) .name) }}
{{- if (index $values .).enabled }}
- to: {{- include "rms.ownPeer" (dict "root" $.root "name" .) | nindent 4 }}
  ports: {{- include "rms.servingPorts" . | nindent 4 }}
{{- end }}
{{- end }}
{{- range $store := index (mustFromJson (include "rms.storeTable" .root)) .name }}
{{- include "rms.portRule" (dict "peers" (index $values.networkPolicy (printf "%sPeers" $store)) "ports" (index $values $store).ports) }}
{{- end }}
{{- if and $values.observability.otlp.endpoint (not (has .name (list "cli" "migrate" "tls" "test"))) }}
{{- include "rms.portRule" (dict "peers" $values.networkPolicy.otlpPeers "ports" (list (include "rms.urlPort" $values.observability.otlp.endpoint | int))) }}
{{- end }}
{{- if and (eq .name "dashboard") $values.dashboard.oidc.issuer }}
{{- include "rms.portRule" (dict "peers" $values.networkPolicy.oidcPeers "ports" (list (include "rms.urlPort" $values.dashboard.oidc.issuer | int))) }}
{{- end }}
{{- if eq .name "tls" }}
- {{ with $values.networkPolicy.apiServerPeers }}to: {{ include "rms.json" . }}
  {{ end }}ports: [{ port: 1, endPort: 65535, protocol: TCP }]
{{- end }}
{{- if has .name (list "webhooks" "alerts") }}
# Public addresses. The service applies the same rule to every address that it connects to.
- to:
    - ipBlock: { cidr: 0.0.0.0/0, except: {{ toJson (splitList " " (include "rms.privateIpv4" .)) }} }
    - ipBlock: { cidr: "2000::/3" }
    {{- range $values.webhooks.egress.allowCidrs }}
    - ipBlock: { cidr: {{ include "rms.quote" . }} }
    {{- end }}
  ports:
    {{- range $values.networkPolicy.webhookPorts }}
    - { protocol: TCP, port: {{ int64 .port }}{{ with .endPort }}, endPort: {{ int64 . }}{{ end }} }
    {{- end }}
{{- end }}
{{- end -}}

{{/* Egress rule to peers, or to any address if there are none, on ports; dict peers, ports. */}}
{{- define "rms.portRule" }}
- {{ with .peers }}to: {{ include "rms.json" . }}
  {{ end }}ports:
    {{- range .ports }}
    - { port: {{ int64 . }}, protocol: TCP }
    {{- end }}
{{- end -}}

{{- define "rms.ownPeer" -}}
- podSelector:
    matchLabels: {{- include "rms.selectorLabels" . | nindent 6 }}
{{- end -}}

{{- define "rms.servingPorts" -}}
{{- if eq . "gateway" -}}
- { port: 8080, protocol: TCP }
- { port: 8081, protocol: TCP }
{{- else if eq . "dashboard" -}}
- { port: 8090, protocol: TCP }
{{- else -}}
- { port: 9090, protocol: TCP }
{{- end -}}
{{- end -}}

{{/* The port of a URL, or the default port of its scheme. */}}
{{- define "rms.urlPort" -}}
{{- $host := (urlParse .).host -}}
{{- if regexMatch ":[0-9]+$" $host }}{{ regexFind "[0-9]+$" $host }}{{ else if hasPrefix "https:" . }}443{{ else }}80{{ end -}}
{{- end -}}

{{/* IPv4 ranges that are not public, from IANA's registries, separated by blanks. */}}
{{- define "rms.privateIpv4" -}}
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3
{{- end -}}
