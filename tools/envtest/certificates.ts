/**
 * The certificates of a temporary control plane: a CA, a serving certificate, a client certificate per user, and the key pair that
 * signs service account tokens. Called by control-plane.ts; returns PEM strings and writes no file.
 */
import { generateKeyPairSync } from 'node:crypto'
import { CertificateAuthority, type KeyPair } from '../../src/util/certificates.ts'

export type Credentials = KeyPair

export interface Certificates {
  readonly caPem: string
  readonly serving: Credentials
  /** In the group system:masters, which the API server allows everything without RBAC. */
  readonly admin: Credentials
  /** The user "operator", without a group: its permissions come from RBAC alone. */
  readonly operator: Credentials
  /** The user "nobody": authenticated, without any permission. */
  readonly nobody: Credentials
  readonly controllerManager: Credentials
  readonly serviceAccount: { readonly publicKeyPem: string; readonly keyPem: string }
}

const hosts = [
  '127.0.0.1',
  '::1',
  // The first address of the service range, which is the address of the service "kubernetes".
  '10.0.0.1',
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]
const masters = ['system:masters']

export async function createCertificates(): Promise<Certificates> {
  const authority = await CertificateAuthority.create('kopf-test-authority')
  const [serving, admin, operator, nobody, controllerManager] = await Promise.all([
    authority.issue({ commonName: 'kube-apiserver', hosts }),
    authority.issue({ commonName: 'admin', organizations: masters }),
    authority.issue({ commonName: 'operator' }),
    authority.issue({ commonName: 'nobody' }),
    // With --use-service-account-credentials=false, all controllers act as this user, and the bootstrap role of
    // system:kube-controller-manager does not allow the deletions that the controllers need.
    authority.issue({ commonName: 'system:kube-controller-manager', organizations: masters }),
  ])
  return { caPem: authority.caPem, serving, admin, operator, nobody, controllerManager, serviceAccount: tokenKeys() }
}

function tokenKeys(): Certificates['serviceAccount'] {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    keyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}
