/**
 * The command lines of etcd, kube-apiserver and kube-controller-manager: like kubeadm's in everything a client can observe, and
 * tuned for speed otherwise. Used by processes.ts; pure.
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
    // Even a single member waits for one election timeout before it becomes the leader.
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
  /** Appended last, so that they override ours. */
  readonly extra: readonly string[]
}

export function toApiServerArgs({ ports, files, auditLog, featureGates, extra }: ApiServerOptions): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.apiServer}`,
    // The endpoints of the service "kubernetes" must not be loopback addresses. Without this option the server looks for
    // another interface, which a sandbox may lack. 192.0.2.1 is reserved for documentation (RFC 5737) and never dialled here.
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

/** Without these controllers, namespaces are never deleted and nothing is garbage-collected. */
const defaultControllers = [
  'clusterrole-aggregation-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
]

export interface ControllerManagerOptions {
  readonly files: Files
  readonly featureGates: Readonly<Record<string, boolean>>
  /** In addition to the default ones. */
  readonly controllers: readonly string[]
}

export function toControllerManagerArgs({ files, featureGates, controllers }: ControllerManagerOptions): string[] {
  return [
    `--kubeconfig=${files.controllerManagerKubeconfig}`,
    `--controllers=${[...defaultControllers, ...controllers].join(',')}`,
    '--use-service-account-credentials=false',
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.ca}`,
    '--leader-elect=false',
    // The port would serve only health and metrics of the controller manager.
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
