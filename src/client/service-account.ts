/**
 * The login from inside a pod, by the files that Kubernetes mounts into it. The token is renewed there, and so is the
 * authority's certificate: whoever connects reads them again. One of the few files that may read the environment.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { KopfError } from '../errors.ts'
import { ConnectionInfo } from './credentials.ts'

const mountedAt = '/var/run/secrets/kubernetes.io/serviceaccount'

/** As in Kopf: above that of a kubeconfig. */
const priority = 20

/** Where the files of the service account are. */
export interface ServiceAccountLoginOptions {
  /** The folder of the token; where Kubernetes mounts it by default. */
  readonly path?: string
}

/**
 * Credentials of the service account of the pod we run in; undefined where there are none.
 *
 * @example
 * ```ts
 * kopf.on.login(() => loginWithServiceAccount() ?? loginWithKubeconfig())
 * ```
 */
export function loginWithServiceAccount({
  path = mountedAt,
}: ServiceAccountLoginOptions = {}): ConnectionInfo | undefined {
  const token = read(path, 'token')
  if (token === undefined) return undefined
  if (token === '') throw refusal(path, 'the file "token" is empty')
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

/** Set in every pod; by its address the server is found even where DNS is not. */
function serverAddress(): string {
  const host = process.env['KUBERNETES_SERVICE_HOST']
  const port = process.env['KUBERNETES_SERVICE_PORT'] || '443'
  if (!host) return 'https://kubernetes.default.svc'
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Undefined where there is no such file. */
function read(folder: string, file: string): string | undefined {
  try {
    return readFileSync(join(folder, file), 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw refusal(folder, `the file "${file}" cannot be read (${code})`, error)
  }
}

function refusal(folder: string, why: string, cause?: unknown): KopfError {
  return new KopfError('KOPF_SERVICE_ACCOUNT', `Cannot log in with the service account in "${folder}": ${why}`, {
    cause,
  })
}
