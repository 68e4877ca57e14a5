{{/* Names, labels and the parts that the pods of all three kinds share. */}}

{{- define "productrecs.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "productrecs.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "productrecs.labels" -}}
{{ include "productrecs.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "productrecs.secret" -}}
{{- if .Values.database.existingSecret -}}
{{- .Values.database.existingSecret -}}
{{- else -}}
{{- if not .Values.database.url }}{{ fail "set database.existingSecret or database.url: replicas need PostgreSQL" }}{{ end -}}
{{- printf "%s-database" (include "productrecs.name" .) -}}
{{- end -}}
{{- end -}}

{{/* Pods start anew when the address of the database changes. */}}
{{- define "productrecs.checksum" -}}
{{- if not .Values.database.existingSecret -}}
annotations:
  checksum/database: {{ .Values.database.url | sha256sum }}
{{- end -}}
{{- end -}}

{{- define "productrecs.claim" -}}
{{- .Values.data.existingClaim | default (printf "%s-data" (include "productrecs.name" .)) -}}
{{- end -}}

{{/* The security of a pod: no user of the image's is root, and nothing may become it. */}}
{{- define "productrecs.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "productrecs.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- define "productrecs.environment" -}}
env:
  - name: DATABASE_URL_FILE
    value: /run/secrets/database/{{ .Values.database.key }}
  {{- with .Values.objects }}
  - name: PRODUCTRECS_OBJECTS
    value: {{ . | quote }}
  {{- end }}
  {{- if .Values.backup.place }}
  - name: PRODUCTRECS_BACKUP
    value: {{ .Values.backup.place | quote }}
  - name: PRODUCTRECS_BACKUP_KEEP
    value: {{ .Values.backup.keep | quote }}
  {{- end }}
  {{- with .Values.retentionDays }}
  - name: PRODUCTRECS_RETENTION_DAYS
    value: {{ . | quote }}
  {{- end }}
  {{- with .Values.baseUrl }}
  - name: PRODUCTRECS_BASE_URL
    value: {{ . | quote }}
  {{- end }}
  {{- range $name, $value := .Values.settings }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
{{- with .Values.extraSecret }}
envFrom:
  - secretRef:
      name: {{ . }}
{{- end }}
{{- end -}}

{{- define "productrecs.mounts" -}}
volumeMounts:
  - name: database
    mountPath: /run/secrets/database
    readOnly: true
  - name: data
    mountPath: /data
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{/* The volumes; the migration needs no shared files, so it gets an empty folder. */}}
{{- define "productrecs.volumes" -}}
volumes:
  - name: database
    secret:
      secretName: {{ include "productrecs.secret" .root }}
      defaultMode: 0440
  - name: data
    {{- if and .shared (not .root.Values.objects) }}
    persistentVolumeClaim:
      claimName: {{ include "productrecs.claim" .root }}
    {{- else }}
    emptyDir: {}
    {{- end }}
  - name: tmp
    emptyDir: {}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}
