/** Builds a kubeconfig for one server and one user. Pure. */
import type { KeyPair } from '../util/certificates.ts'

/** The options of `toKubeconfig`. */
export interface KubeconfigOptions {
  /** The address of the server. */
  readonly url: string
  /** The CA that signed the server's certificate, in PEM. Omit it for plain HTTP. */
  readonly ca?: string
  /** A bearer token of the user. */
  readonly token?: string
  /** A client certificate of the user, with its key. */
  readonly clientCertificate?: KeyPair
  /** The name of the cluster, the user and the context. Default: `kopf`. */
  readonly name?: string
  /** The namespace of the context. Default: `default`. */
  readonly namespace?: string
}

/**
 * Returns the text of a kubeconfig for one server and one user. It is JSON, which is valid YAML.
 *
 * @example
 * ```ts
 * writeFileSync('kubeconfig', toKubeconfig({ url: server.url, ca: server.ca, token: 'secret' }))
 * ```
 */
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
