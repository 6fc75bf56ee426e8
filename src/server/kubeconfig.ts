/** A kubeconfig for one server and one user, as text. Pure. */
import type { KeyPair } from '../util/certificates.ts'

export interface KubeconfigOptions {
  readonly url: string
  /** The authority that signed the server's certificate, in PEM; absent for plain HTTP. */
  readonly ca?: string
  readonly token?: string
  readonly clientCertificate?: KeyPair
  /** The name of the cluster, the user and the context. */
  readonly name?: string
  readonly namespace?: string
}

/** The text of a kubeconfig for one server and one user. */
export function toKubeconfig(options: KubeconfigOptions): string {
  const { url, ca, name = 'kopf', namespace = 'default' } = options
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: {
          server: url,
          ...(ca === undefined ? {} : { 'certificate-authority-data': toBase64(ca) }),
        },
      },
    ],
    users: [{ name, user: toUser(options) }],
    contexts: [{ name, context: { cluster: name, user: name, namespace } }],
    'current-context': name,
  }
  // JSON is YAML, and every client reads it.
  return `${JSON.stringify(config, undefined, 2)}\n`
}

function toUser({ token, clientCertificate }: KubeconfigOptions): object {
  return {
    ...(token === undefined ? {} : { token }),
    ...(clientCertificate === undefined
      ? {}
      : {
          'client-certificate-data': toBase64(clientCertificate.certPem),
          'client-key-data': toBase64(clientCertificate.keyPem),
        }),
  }
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}
