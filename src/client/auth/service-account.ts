/**
 * Login inside a pod, with the files of the service account that Kubernetes mounts. The kubelet renews token and CA there; connections read
 * them again (credential-files.ts). One of the few files that may read the environment.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { KopfError } from '../../errors.ts'
import { toUrlHost } from '../../util/text/hosts.ts'
import { ConnectionInfo } from './connection-info.ts'

const defaultPath = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The priority of these credentials, as in Kopf: higher than that of a kubeconfig. */
const priority = 20

/** Options of `loginWithServiceAccount`. */
export interface ServiceAccountLoginOptions {
  /** The folder with `token`, `ca.crt` and `namespace`. Default: `/var/run/secrets/kubernetes.io/serviceaccount`. */
  readonly path?: string
}

/**
 * Returns the credentials of the pod's service account, or undefined outside of a pod. For login handlers; without any login handler
 * the operator calls it itself. Throws a `KopfError` (`KOPF_SERVICE_ACCOUNT`) if the files cannot be used.
 *
 * @example
 * ```ts
 * kopf.on.login(() => loginWithServiceAccount() ?? loginWithKubeconfig())
 * ```
 */
export function loginWithServiceAccount({
  path = defaultPath,
}: ServiceAccountLoginOptions = {}): ConnectionInfo | undefined {
  const token = read(path, 'token')
  if (token === undefined) return undefined
  if (token === '') throw serviceAccountError(path, 'the file "token" is empty')
  const hasAuthority = read(path, 'ca.crt') !== undefined
  const namespace = read(path, 'namespace')
  return new ConnectionInfo({
    server: serverAddress(),
    token,
    tokenPath: join(path, 'token'),
    ...(hasAuthority ? { caPath: join(path, 'ca.crt') } : {}),
    ...(namespace ? { defaultNamespace: namespace } : {}),
    priority,
  })
}

/** Whether this process runs in a pod with a service account. */
export function isInPod(): boolean {
  return process.env['KUBERNETES_SERVICE_HOST'] !== undefined && read(defaultPath, 'token') !== undefined
}

/** The API server's address, from the variables that Kubernetes sets in every pod; works without DNS. */
function serverAddress(): string {
  const host = process.env['KUBERNETES_SERVICE_HOST']
  const port = process.env['KUBERNETES_SERVICE_PORT'] || '443'
  if (!host) return 'https://kubernetes.default.svc'
  return `https://${toUrlHost(host)}:${port}`
}

/** Undefined if there is no such file. */
function read(folder: string, file: string): string | undefined {
  try {
    return readFileSync(join(folder, file), 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw serviceAccountError(folder, `the file "${file}" cannot be read (${code})`, error)
  }
}

function serviceAccountError(folder: string, why: string, cause?: unknown): KopfError {
  return new KopfError('KOPF_SERVICE_ACCOUNT', `Cannot log in with the service account in "${folder}": ${why}`, {
    cause,
  })
}
