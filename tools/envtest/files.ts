/**
 * Writes the files that the programs of the control plane read: certificates, kubeconfigs, the audit policy.
 * Called once by control-plane.ts; only this user can read the files.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Certificates, Credentials } from './certificates.ts'

export interface Kubeconfigs {
  readonly admin: string
  readonly operator: string
  readonly nobody: string
}

/** Paths in the folder of the control plane. */
export interface Files {
  readonly ca: string
  readonly servingCert: string
  readonly servingKey: string
  readonly serviceAccountPublicKey: string
  readonly serviceAccountKey: string
  readonly auditPolicy: string
  readonly controllerManagerKubeconfig: string
  readonly kubeconfigs: Kubeconfigs
}

export type AuditLevel = 'Metadata' | 'Request' | 'RequestResponse'

export async function writeFiles(
  folder: string,
  url: string,
  options: { certificates: Certificates; auditLevel: AuditLevel },
): Promise<Files> {
  const { certificates, auditLevel } = options
  const put = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name)
    await writeFile(path, text, { mode: 0o600 })
    return path
  }
  const putKubeconfig = (name: string, user: Credentials): Promise<string> =>
    put(`${name}.kubeconfig`, toKubeconfig({ url, caPem: certificates.caPem, name, user }))

  await mkdir(join(folder, 'etcd'), { mode: 0o700 })
  return {
    ca: await put('ca.pem', certificates.caPem),
    servingCert: await put('serving-cert.pem', certificates.serving.certPem),
    servingKey: await put('serving-key.pem', certificates.serving.keyPem),
    serviceAccountPublicKey: await put('service-account-public.pem', certificates.serviceAccount.publicKeyPem),
    serviceAccountKey: await put('service-account-key.pem', certificates.serviceAccount.keyPem),
    auditPolicy: await put('audit-policy.yaml', toAuditPolicy(auditLevel)),
    controllerManagerKubeconfig: await putKubeconfig('controller-manager', certificates.controllerManager),
    kubeconfigs: {
      admin: await putKubeconfig('admin', certificates.admin),
      operator: await putKubeconfig('operator', certificates.operator),
      nobody: await putKubeconfig('nobody', certificates.nobody),
    },
  }
}

function toKubeconfig(about: { url: string; caPem: string; name: string; user: Credentials }): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'kopf-test', cluster: { server: about.url, 'certificate-authority-data': base64(about.caPem) } },
    ],
    users: [
      {
        name: about.name,
        user: {
          'client-certificate-data': base64(about.user.certPem),
          'client-key-data': base64(about.user.keyPem),
        },
      },
    ],
    contexts: [{ name: about.name, context: { cluster: 'kopf-test', user: about.name, namespace: 'default' } }],
    'current-context': about.name,
  })
}

/** Logs one line per request, when the response is sent; a watch has one line at its start and one at its end. */
function toAuditPolicy(level: AuditLevel): string {
  return stringify({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level }],
  })
}
