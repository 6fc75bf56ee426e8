/**
 * The command lines of the three programs: as kubeadm starts them where that can be seen from outside, faster where it
 * cannot. Used by control-plane.ts; pure.
 */
import type { Files } from './files.ts'

export interface Ports {
  readonly apiServer: number
  readonly etcd: number
  readonly etcdPeer: number
}

export function toEtcdArgs(options: { ports: Ports; dataFolder: string; fsync: boolean }): string[] {
  const clientUrl = `http://127.0.0.1:${options.ports.etcd}`
  const peerUrl = `http://127.0.0.1:${options.ports.etcdPeer}`
  return [
    '--name=kopf',
    `--data-dir=${options.dataFolder}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=kopf=${peerUrl}`,
    '--watch-progress-notify-interval=5s',
    // A member alone has nobody to wait for, yet waits an election timeout before it leads.
    '--heartbeat-interval=20',
    '--election-timeout=200',
    '--log-level=warn',
    ...(options.fsync ? [] : ['--unsafe-no-fsync']),
  ]
}

export interface ApiServerOptions {
  readonly ports: Ports
  readonly files: Files
  readonly auditLog: string | undefined
  readonly featureGates: Readonly<Record<string, boolean>>
  /** Last, so that they win over ours. */
  readonly extra: readonly string[]
}

export function toApiServerArgs({ ports, files, auditLog, featureGates, extra }: ApiServerOptions): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.apiServer}`,
    // The endpoints of the service "kubernetes" may not be loopback addresses, and without this the server looks for
    // another interface, which a sandbox may lack. An address for documentation (RFC 5737): nobody dials it here.
    '--advertise-address=192.0.2.1',
    `--tls-cert-file=${files.servingCert}`,
    `--tls-private-key-file=${files.servingKey}`,
    `--client-ca-file=${files.ca}`,
    '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
    `--service-account-key-file=${files.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    '--authorization-mode=RBAC',
    '--allow-privileged=true',
    ...(auditLog === undefined ? [] : [`--audit-policy-file=${files.auditPolicy}`, `--audit-log-path=${auditLog}`]),
    ...toFeatureGates(featureGates),
    ...extra,
  ]
}

/** What everybody relies on: without them namespaces never end, and nothing is collected. */
const usualControllers = [
  'clusterrole-aggregation-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
]

export interface ControllerManagerOptions {
  readonly files: Files
  readonly featureGates: Readonly<Record<string, boolean>>
  /** Beside the usual ones. */
  readonly controllers: readonly string[]
}

export function toControllerManagerArgs({ files, featureGates, controllers }: ControllerManagerOptions): string[] {
  return [
    `--kubeconfig=${files.controllerManagerKubeconfig}`,
    `--controllers=${[...usualControllers, ...controllers].join(',')}`,
    '--use-service-account-credentials=false',
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.ca}`,
    '--leader-elect=false',
    // It would serve nothing but its own health and metrics.
    '--secure-port=0',
    '--kube-api-qps=500',
    '--kube-api-burst=1000',
    ...toFeatureGates(featureGates),
  ]
}

function toFeatureGates(gates: Readonly<Record<string, boolean>>): string[] {
  const pairs = Object.entries(gates).map(([name, isOn]) => `${name}=${isOn}`)
  return pairs.length === 0 ? [] : [`--feature-gates=${pairs.join(',')}`]
}
