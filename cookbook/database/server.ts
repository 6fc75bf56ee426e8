/** The PostgreSQL server: a StatefulSet with one pod, and a headless Service for its address. */
import { type Body, buildObject, type Spec } from 'kopf'
import { PersistentVolumeClaim, Service, StatefulSet } from 'kopf/kubernetes'
import { claimTemplate, labelsOf, secretName, serverLabels } from './names.ts'
import type { Database } from './resource.ts'

export const imageOf = ({ version }: Spec<typeof Database>) => `docker.io/library/postgres:${version}`

/** The user, the group and the files of the image. */
export const podSecurity = { runAsNonRoot: true, runAsUser: 999, runAsGroup: 999, fsGroup: 999 }
export const containerSecurity = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }

const port = 5432

/** By TCP: while the image prepares a new database, it runs a server that listens on a Unix socket only. */
const isReady = ['pg_isready', '--host=127.0.0.1', '--username=postgres']
/** A server that refuses connections (exit code 1) lives: its recovery after a crash can take long, and must not be interrupted. */
const isAlive = ['sh', '-c', `${isReady.join(' ')} || test $? -eq 1`]

export function buildService(name: string): Service {
  return buildObject(Service, {
    metadata: { name, labels: labelsOf(name) },
    spec: { clusterIP: 'None', selector: serverLabels(name), ports: [{ name: 'postgres', port }] },
  })
}

/**
 * Claim templates of a StatefulSet cannot be changed. The template keeps the size that it was created with (`templateStorage`), and storage.ts
 * grows the claim itself.
 */
export function buildServer(name: string, spec: Spec<typeof Database>, templateStorage: string): StatefulSet {
  const secret = secretName(name)
  const fromSecret = (key: string) => ({ valueFrom: { secretKeyRef: { name: secret, key } } })
  const container = {
    name: 'postgres',
    image: imageOf(spec),
    ports: [{ name: 'postgres', containerPort: port }],
    env: [
      { name: 'POSTGRES_USER', ...fromSecret('username') },
      { name: 'POSTGRES_PASSWORD', ...fromSecret('password') },
      { name: 'POSTGRES_DB', ...fromSecret('database') },
      // Some volumes have a folder lost+found at the top, and PostgreSQL wants an empty folder.
      { name: 'PGDATA', value: '/var/lib/postgresql/data/pgdata' },
    ],
    volumeMounts: [{ name: claimTemplate, mountPath: '/var/lib/postgresql/data' }],
    readinessProbe: { exec: { command: isReady }, periodSeconds: 5, timeoutSeconds: 5 },
    startupProbe: { exec: { command: isAlive }, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 120 },
    livenessProbe: { exec: { command: isAlive }, timeoutSeconds: 5, failureThreshold: 6 },
    securityContext: containerSecurity,
  }
  const claim = buildObject(PersistentVolumeClaim, {
    metadata: { name: claimTemplate, labels: labelsOf(name) },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: templateStorage } },
      ...(spec.storageClass === undefined ? {} : { storageClassName: spec.storageClass }),
    },
  })
  return buildObject(StatefulSet, {
    metadata: { name, labels: labelsOf(name) },
    spec: {
      replicas: 1,
      serviceName: name,
      selector: { matchLabels: serverLabels(name) },
      template: {
        metadata: { labels: serverLabels(name) },
        spec: { securityContext: podSecurity, terminationGracePeriodSeconds: 120, containers: [container] },
      },
      volumeClaimTemplates: [claim],
    },
  })
}

/** The size in the claim template of the server that exists. */
export function templateStorageOf(server: Body<StatefulSet> | undefined): string | undefined {
  return server?.spec.volumeClaimTemplates?.[0]?.spec?.resources?.requests?.['storage']?.toString()
}
