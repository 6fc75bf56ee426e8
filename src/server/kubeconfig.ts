/** A kubeconfig for one server and one user, as text. Pure. */

export interface KubeconfigOptions {
  readonly url: string
  /** The authority that signed the server's certificate, in PEM; absent for plain HTTP. */
  readonly ca?: string
  readonly token?: string
  /** The name of the cluster, the user and the context. */
  readonly name?: string
  readonly namespace?: string
}

export function toKubeconfig({ url, ca, token, name = 'kopf', namespace = 'default' }: KubeconfigOptions): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name,
        cluster: {
          server: url,
          ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
        },
      },
    ],
    users: [{ name, user: token === undefined ? {} : { token } }],
    contexts: [{ name, context: { cluster: name, user: name, namespace } }],
    'current-context': name,
  }
  // JSON is YAML, and every client reads it.
  return `${JSON.stringify(config, undefined, 2)}\n`
}
