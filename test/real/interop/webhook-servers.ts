/** Operators of Python's Kopf and of this package as webhook servers, each on its own port, with certificates from files. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CertificateAuthority } from '../../../src/util/certificates.ts'
import { findFreePorts } from '../../../tools/envtest/ports.ts'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import { type Language, startOperator } from './paired-operators.ts'

export interface ServingOptions {
  readonly namespace: string
  readonly kubeconfig: string
  readonly group: string
  /** The name of the webhook configurations; empty for none. */
  readonly managed: string
}

export interface Serving {
  readonly operator: OperatorProcess
  readonly url: string
  readonly caPem: string
  /** Deletes the files of the certificates. The process must have ended. */
  clear(): Promise<void>
}

/** Both operators get certificates from files, since the generator of Kopf does not work with every OpenSSL. */
export async function startServing(language: Language, options: ServingOptions): Promise<Serving> {
  const folder = await mkdtemp(join(tmpdir(), 'kopf-interop-'))
  const authority = await CertificateAuthority.create('kopf-interop')
  const { certPem, keyPem } = await authority.issue({ commonName: 'webhooks', hosts: ['127.0.0.1'] })
  const files = { CERT: join(folder, 'cert.pem'), KEY: join(folder, 'key.pem'), CA: join(folder, 'ca.pem') }
  await writeFile(files.CERT, certPem)
  await writeFile(files.KEY, keyPem)
  await writeFile(files.CA, authority.caPem)
  const [port] = await findFreePorts(1)
  const { group, managed, namespace, kubeconfig } = options
  const env = { GROUP: group, MANAGED: managed, PORT: String(port), ...files }
  const operator = await startOperator(language, { name: 'admission-handlers', namespace, kubeconfig, env })
  const clear = () => rm(folder, { recursive: true, force: true })
  return { operator, url: `https://127.0.0.1:${port}`, caPem: authority.caPem, clear }
}
