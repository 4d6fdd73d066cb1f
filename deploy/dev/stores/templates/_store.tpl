{{/* A store: one pod and its Service; dict root, name, port, user, folder (its data directory), container (YAML). */}}
{{- define "stores.store" }}
---
apiVersion: v1
kind: Service
metadata: { name: rms-{{ .name }}, namespace: {{ quote .root.Release.Namespace }}, labels: { app: rms-{{ .name }} } }
spec:
  selector: { app: rms-{{ .name }} }
  ports: [{ name: {{ .name }}, port: {{ .port }}, targetPort: {{ .name }} }]
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: rms-{{ .name }}, namespace: {{ quote .root.Release.Namespace }}, labels: { app: rms-{{ .name }} } }
spec:
  replicas: 1
  # Never run two pods at the same address.
  strategy: { type: Recreate }
  selector: { matchLabels: { app: rms-{{ .name }} } }
  template:
    metadata: { labels: { app: rms-{{ .name }} } }
    spec:
      automountServiceAccountToken: false
      # Kubernetes would set KAFKA_PORT and similar variables for a Service named rms-kafka.
      enableServiceLinks: false
      securityContext:
        runAsNonRoot: true
        runAsUser: {{ .user }}
        fsGroup: {{ .user }}
        seccompProfile: { type: RuntimeDefault }
      containers:
        - name: {{ .name }}
          image: {{ quote (index .root.Values.images .name) }}
          imagePullPolicy: {{ quote .root.Values.imagePullPolicy }}
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
          ports: [{ name: {{ .name }}, containerPort: {{ .port }} }]
          resources: {{ toJson (index .root.Values.resources .name) }}
          volumeMounts: [{ name: data, mountPath: {{ .folder }} }]
          {{- .container | trim | nindent 10 }}
      volumes: [{ name: data, emptyDir: {} }]
{{- end }}
