/** The operator of cookbook/certificates: issues, renews and restores TLS Secrets, and leaves the Secrets of others as they are. */
import { X509Certificate } from 'node:crypto'
import { Secret } from 'kopf/kubernetes'
import { expect, test } from 'vitest'
import { encode, readPair } from '../../cookbook/certificates/ca.ts'
import kopf, { Certificate } from '../../cookbook/certificates/operator.ts'
import { caSecretName, toMs } from '../../cookbook/certificates/resource.ts'
import { issue } from '../../cookbook/certificates/x509.ts'
import { useProject } from './cookbook-support.ts'

const project = useProject(kopf, { resources: [Certificate] })
const times = { duration: '90d', renewBefore: '30d' }

interface WithStatus {
  readonly status?: {
    readonly serial?: string
    readonly renewals?: number
    readonly conditions?: readonly { type: string; reason: string; message: string }[]
  }
}

const has = (type: string, reason: string) => (certificate: WithStatus) =>
  certificate.status?.conditions?.some((one) => one.type === type && one.reason === reason) ?? false

async function createIssued(name: string) {
  const spec = { dnsNames: [`${name}.example.com`], secretName: `${name}-tls`, ...times }
  await project.cluster.create(Certificate, { name, spec })
  return await project.cluster.until(Certificate, name, has('Ready', 'Issued'))
}

function untilRenewed(name: string, renewals: number) {
  return project.cluster.until(
    Certificate,
    name,
    (one) => has('Ready', 'Issued')(one) && one.status?.renewals === renewals,
  )
}

async function read(name: string) {
  const { data, type, metadata } = await project.cluster.get(Secret, name)
  const pair = readPair(data)
  if (pair === undefined) throw new Error(`The Secret ${name} has no certificate`)
  return { ...pair, certificate: new X509Certificate(pair.certPem), type, metadata }
}

test('a certificate is issued, renewed, issued again for other names, and restored', async () => {
  const { cluster } = project
  await project.start()
  const { metadata, status } = await createIssued('shop')
  const ca = await read(caSecretName)
  const first = await read('shop-tls')
  expect(first.type).toBe('kubernetes.io/tls')
  expect(first.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid, controller: true }])
  expect(first.certificate.verify(ca.certificate.publicKey)).toBe(true)
  expect(status).toMatchObject({ serial: first.certificate.serialNumber.toLowerCase(), renewals: 0 })

  // A certificate of the same CA that is due: as if it had been issued 61 days ago.
  const validity = { nowMs: cluster.clock.now() - toMs('61d'), durationMs: toMs('90d') }
  const { certPem, keyPem } = await issue(ca, ['shop.example.com'], validity)
  await cluster.patch(Secret, 'shop-tls', { data: { 'tls.crt': encode(certPem), 'tls.key': encode(keyPem) } })
  // The old certificate and the new one count.
  await untilRenewed('shop', 2)
  const renewed = await read('shop-tls')
  expect(Date.parse(renewed.certificate.validTo)).toBeGreaterThan(cluster.clock.now() + toMs('89d'))

  await cluster.patch(Certificate, 'shop', { spec: { dnsNames: ['www.example.com'] } })
  await untilRenewed('shop', 3)
  expect((await read('shop-tls')).certificate.subjectAltName).toBe('DNS:www.example.com')
  await cluster.patch(Secret, 'shop-tls', { data: { 'tls.key': encode('damaged') } })
  await untilRenewed('shop', 4)
  await cluster.delete(Secret, 'shop-tls')
  await untilRenewed('shop', 5)
  expect((await read(caSecretName)).certPem).toBe(ca.certPem)
  expect(cluster.logs.join('\n')).not.toContain(encode(ca.keyPem))
})

test('a Secret of another application is reported and not overwritten', async () => {
  const { cluster } = project
  await cluster.create(Secret, { name: 'taken-tls', stringData: { password: 'theirs' } })
  await project.start()
  const spec = { dnsNames: ['taken.example.com'], secretName: 'taken-tls', ...times }
  await cluster.create(Certificate, { name: 'taken', spec })
  await cluster.until(Certificate, 'taken', has('Ready', 'SecretRefused'))
  const { data } = await cluster.get(Secret, 'taken-tls')
  expect(data).toEqual({ password: encode('theirs') })
})

test('a certificate that is not due is not written again after a restart', async () => {
  const { cluster } = project
  await project.start().then((running) => createIssued('stable').finally(() => running.stop()))
  const before = await read('stable-tls')
  await project.start()
  await createIssued('later')
  await cluster.settled()
  expect((await read('stable-tls')).metadata.resourceVersion).toBe(before.metadata.resourceVersion)
})

test('the longest names have a certificate', async () => {
  await project.start()
  const name = 'c'.repeat(253)
  const dnsNames = Array.from({ length: 50 }, (_, index) => `${index + 10}.${'host.'.repeat(48)}example`)
  await project.cluster.create(Certificate, { name, spec: { dnsNames, secretName: name, ...times } })
  await project.cluster.until(Certificate, name, has('Ready', 'Issued'))
  expect((await read(name)).certificate.subjectAltName?.split(', ')).toHaveLength(50)
})

test('the API server refuses times that cannot work, and the name of the CA', async () => {
  const spec = { dnsNames: ['a.example.com'], secretName: 'a-tls', ...times }
  const create = (fields: object) =>
    project.cluster.create(Certificate, { name: 'wrong', spec: { ...spec, ...fields } })
  await expect(create({ duration: '720h' })).rejects.toThrow('renewBefore must be shorter than duration')
  await expect(create({ duration: '1000d' })).rejects.toThrow('duration must be at most 366 days')
  await expect(create({ secretName: caSecretName })).rejects.toThrow('choose another name')
})
