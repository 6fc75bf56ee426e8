/** Python's Kopf and ours as webhook servers, each on a port of its own, with certificates from files. Used by the tests of admission. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CertificateAuthority } from '../../../src/util/certificates.ts'
import { findFreePorts } from '../../../tools/envtest/ports.ts'
import type { OperatorProcess } from '../../../tools/kopf/operator-process.ts'
import { type Language, startOperator } from './support.ts'

export interface ServingOptions {
  readonly namespace: string
  readonly kubeconfig: string
  readonly group: string
  /** The name of the configurations; empty where none are managed. */
  readonly managed: string
}

export interface Serving {
  readonly operator: OperatorProcess
  readonly url: string
  readonly caPem: string
  /** Of the files; the process must have ended. */
  clear(): Promise<void>
}

/** Python's own generator of certificates does not work with every OpenSSL: so both are given files. */
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
  const operator = await startOperator(language, { name: 'webhooks', namespace, kubeconfig, env })
  const clear = () => rm(folder, { recursive: true, force: true })
  return { operator, url: `https://127.0.0.1:${port}`, caPem: authority.caPem, clear }
}
