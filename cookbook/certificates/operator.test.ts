/** Runs the operator on an embedded cluster. Its clock skips the time between two renewals. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { isUnprocessable, type Spec } from 'kopf'
import { Secret } from 'kopf/kubernetes'
import { type Cluster, startCluster } from 'kopf/testing'
import { encode, readPair } from './ca.ts'
import kopf, { Certificate } from './operator.ts'
import { caSecretName, toMs } from './resource.ts'
import { canSign, createCa, issue } from './x509.ts'

const spec = { dnsNames: ['shop.example.com'], secretName: 'shop-tls', duration: '90d', renewBefore: '30d' }
const openCluster = () => startCluster({ resources: [Certificate] })

interface WithStatus {
  readonly status?: {
    readonly serial?: string
    readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[]
  }
}

/** Whether a condition of the Certificate has this reason. */
const has = (type: string, reason: string) => (certificate: WithStatus) =>
  certificate.status?.conditions?.some((one) => one.type === type && one.reason === reason) ?? false

const isIssued = has('Ready', 'Issued')

async function createIssued(cluster: Cluster, fields: Partial<Spec<typeof Certificate>> = {}) {
  await cluster.create(Certificate, { name: 'shop', spec: { ...spec, ...fields } })
  return await cluster.until(Certificate, 'shop', isIssued)
}

/** Waits for a certificate with another serial number. */
function untilReissued(cluster: Cluster, { status }: WithStatus, timeout: '1m' | '9h' = '1m') {
  const isOther = (one: WithStatus) => isIssued(one) && one.status?.serial !== status?.serial
  return cluster.until(Certificate, 'shop', isOther, { timeout })
}

async function readSecret(cluster: Cluster, name = 'shop-tls') {
  const { data } = await cluster.get(Secret, name)
  const pair = readPair(data)
  assert.ok(pair)
  return { ...pair, certificate: new X509Certificate(pair.certPem), ca: Buffer.from(data?.['ca.crt'] ?? '', 'base64') }
}

test('a certificate is issued, and a TLS server can use it', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  const { status } = await createIssued(cluster, { dnsNames: ['localhost', '*.shop.example.com'] })
  assert.equal((await cluster.get(Secret, 'shop-tls')).type, 'kubernetes.io/tls')
  const { certificate, certPem, keyPem, ca } = await readSecret(cluster)
  assert.equal(certificate.subjectAltName, 'DNS:localhost, DNS:*.shop.example.com')
  assert.equal(status?.renewals, 0)
  assert.equal(status?.serial, certificate.serialNumber.toLowerCase())
  assert.equal(Date.parse(status?.notAfter ?? ''), Date.parse(certificate.validTo))
  const days = (Date.parse(certificate.validTo) - cluster.clock.now()) / 86_400_000
  assert.ok(days > 89 && days <= 90, `valid for ${days} days`)

  const server = createServer({ cert: certPem, key: keyPem }, (socket) => socket.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  const socket = connect({ host: '127.0.0.1', port: address.port, servername: 'localhost', ca })
  await once(socket, 'secureConnect')
  assert.ok(socket.authorized)
  socket.destroy()
  server.close()
})

test('certificates are renewed in time, again and again', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  let certificate = await createIssued(cluster, { duration: '9h', renewBefore: '3h' })
  for (let renewals = 1; renewals <= 3; renewals++) {
    const { certPem, keyPem, certificate: old } = await readSecret(cluster)
    certificate = await untilReissued(cluster, certificate, '9h')
    const leftMs = Date.parse(old.validTo) - cluster.clock.now()
    assert.ok(Math.abs(leftMs - toMs('3h')) < 60_000, `renewed ${leftMs} ms before its end`)
    assert.equal(certificate.status?.renewals, renewals)
    const next = await readSecret(cluster)
    assert.notEqual(next.certPem, certPem)
    assert.notEqual(next.keyPem, keyPem)
  }
})

test('a certificate that became due while the operator was down is renewed at its start', async () => {
  await using cluster = await openCluster()
  const first = await kopf.start(cluster)
  const before = await createIssued(cluster, { duration: '3d', renewBefore: '1d' })
  await first.stop()
  await cluster.clock.advance('50h')
  await using _second = await kopf.start(cluster)
  assert.equal((await untilReissued(cluster, before)).status?.renewals, 1)
})

test('a certificate that expired while the operator was down is replaced', async () => {
  await using cluster = await openCluster()
  const first = await kopf.start(cluster)
  const before = await createIssued(cluster, { duration: '9h', renewBefore: '3h' })
  await first.stop()
  await cluster.clock.advance('12h')
  await using _second = await kopf.start(cluster)
  await cluster.until(Certificate, 'shop', has('Ready', 'Issuing'))
  await untilReissued(cluster, before)
})

test('a certificate that is not due stays the same after restarts and other changes', async () => {
  await using cluster = await openCluster()
  const first = await kopf.start(cluster)
  await createIssued(cluster)
  const before = await cluster.get(Secret, 'shop-tls')
  const ca = await cluster.get(Secret, caSecretName)
  await first.stop()
  await using _second = await kopf.start(cluster)
  await cluster.patch(Certificate, 'shop', { metadata: { labels: { team: 'sales' } }, spec: { renewBefore: '20d' } })
  await cluster.settled()
  const after = await cluster.get(Secret, 'shop-tls')
  assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion)
  assert.deepEqual(await cluster.get(Secret, caSecretName), ca)
})

test('other names, another duration and another Secret lead to a new certificate', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  let certificate = await createIssued(cluster)
  await cluster.patch(Certificate, 'shop', { spec: { dnsNames: ['shop.example.com', 'www.example.com'] } })
  certificate = await untilReissued(cluster, certificate)
  assert.equal((await readSecret(cluster)).certificate.subjectAltName, 'DNS:shop.example.com, DNS:www.example.com')
  await cluster.patch(Certificate, 'shop', { spec: { duration: '60d' } })
  certificate = await untilReissued(cluster, certificate)
  await cluster.patch(Certificate, 'shop', { spec: { secretName: 'web-tls' } })
  certificate = await untilReissued(cluster, certificate)
  await cluster.untilGone(Secret, 'shop-tls')
  assert.ok(await readSecret(cluster, 'web-tls'))
  assert.equal(certificate.status?.renewals, 3)
})

test('a Secret that was deleted or edited is put right', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  let certificate = await createIssued(cluster)
  await cluster.delete(Secret, 'shop-tls')
  certificate = await untilReissued(cluster, certificate)
  await cluster.patch(Secret, 'shop-tls', { data: { 'tls.key': encode('damaged') } })
  certificate = await untilReissued(cluster, certificate)

  // A pair that is valid, but was signed by another CA.
  const nowMs = cluster.clock.now()
  const other = await createCa('other', { nowMs, durationMs: toMs('365d') })
  const { certPem, keyPem } = await issue(other, spec.dnsNames, { nowMs, durationMs: toMs('90d') })
  await cluster.patch(Secret, 'shop-tls', { data: { 'tls.crt': encode(certPem), 'tls.key': encode(keyPem) } })
  certificate = await untilReissued(cluster, certificate)

  // The certificate is still good: only the other field is written.
  const { ca } = await readSecret(cluster)
  await cluster.patch(Secret, 'shop-tls', { data: { 'ca.crt': encode(other.certPem) } })
  await cluster.until(Secret, 'shop-tls', ({ data }) => data?.['ca.crt'] === ca.toString('base64'))
  await cluster.settled()
  assert.equal((await cluster.get(Certificate, 'shop')).status?.serial, certificate.status?.serial)
})

test('a Secret of another application is not overwritten, and not deleted', async () => {
  await using cluster = await openCluster()
  await cluster.create(Secret, { name: 'shop-tls', stringData: { password: 'theirs' } })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Certificate, { name: 'shop', spec })
  const { status } = await cluster.until(Certificate, 'shop', has('Ready', 'SecretRefused'))
  const refused = status?.conditions?.find(({ type }) => type === 'ChildrenApplied')
  assert.match(refused?.message ?? '', /Secret "shop-tls"/)
  assert.deepEqual((await cluster.get(Secret, 'shop-tls')).data, { password: encode('theirs') })
  await cluster.delete(Secret, 'shop-tls')
  await cluster.until(Certificate, 'shop', isIssued, { timeout: '15m' })
})

test('all certificates of a namespace have the same CA, also if they are created at once', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  const names = ['a', 'b', 'c', 'd']
  await Promise.all(
    names.map((name) => cluster.create(Certificate, { name, spec: { ...spec, secretName: `${name}-tls` } })),
  )
  for (const name of names) await cluster.until(Certificate, name, isIssued)
  const { certificate: ca } = await readSecret(cluster, caSecretName)
  for (const name of names) {
    const { certificate } = await readSecret(cluster, `${name}-tls`)
    assert.ok(certificate.verify(ca.publicKey))
  }
})

test('a lost CA is not replaced while its certificates are in use', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  const { status } = await createIssued(cluster)
  const { metadata, type, data } = await cluster.get(Secret, caSecretName)
  await cluster.delete(Secret, caSecretName)
  await cluster.until(Certificate, 'shop', has('Ready', 'CAMissing'), { timeout: '10s' })
  await cluster.patch(Certificate, 'shop', { spec: { dnsNames: ['www.example.com'] } })
  await cluster.until(Certificate, 'shop', has('Ready', 'CAMissing'))
  const { certificate } = await readSecret(cluster)
  assert.equal(certificate.serialNumber.toLowerCase(), status?.serial)

  const { name, labels = {} } = metadata
  await cluster.create(Secret, { name, labels, ...(type && { type }), ...(data && { data }) })
  await untilReissued(cluster, { status: status ?? {} })
})

test('certificates of a CA that was replaced are issued again at once', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  const before = await createIssued(cluster)
  const next = await createCa('next', { nowMs: cluster.clock.now(), durationMs: toMs('365d') })
  await cluster.delete(Secret, caSecretName)
  await cluster.create(Secret, {
    name: caSecretName,
    labels: { 'example.com/ca': 'true' },
    data: { 'tls.crt': encode(next.certPem), 'tls.key': encode(next.keyPem) },
  })
  await untilReissued(cluster, before)
  const { certificate, ca } = await readSecret(cluster)
  assert.ok(certificate.verify(new X509Certificate(next.certPem).publicKey))
  assert.equal(ca.toString(), next.certPem)
})

test('two Certificates with the same Secret do not replace it by turns', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  const first = await createIssued(cluster)
  await cluster.create(Certificate, { name: 'second', spec: { ...spec, dnsNames: ['second.example.com'] } })
  await cluster.until(Certificate, 'second', has('Ready', 'SecretRefused'))
  await cluster.clock.advance('1h')
  assert.equal((await readSecret(cluster)).certificate.serialNumber.toLowerCase(), first.status?.serial)
  await cluster.delete(Certificate, 'shop')
  await cluster.until(Certificate, 'second', isIssued, { timeout: '15m' })
})

test('a Secret with the name of the CA that belongs to others is not used', async () => {
  await using cluster = await openCluster()
  await cluster.create(Secret, { name: caSecretName, stringData: { 'tls.key': 'theirs' } })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Certificate, { name: 'shop', spec })
  await cluster.until(Certificate, 'shop', has('Ready', 'CANotOwned'))
  await cluster.patch(Secret, caSecretName, {
    metadata: { labels: { 'example.com/ca': 'true' } },
  })
  await cluster.until(Certificate, 'shop', has('Ready', 'CADamaged'), { timeout: '5m' })
  assert.equal((await cluster.list(Secret)).length, 1)
})

test('a CA needs a certificate that may sign, and its key', async () => {
  const validity = { nowMs: Date.now(), durationMs: toMs('90d') }
  const [one, other] = [await createCa('one', validity), await createCa('other', validity)]
  assert.ok(canSign(one))
  assert.ok(!canSign({ ...one, keyPem: other.keyPem }))
  assert.ok(!canSign(await issue(one, spec.dnsNames, validity)))
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  assert.ok(!canSign({ ...one, keyPem: rsa.export({ type: 'pkcs8', format: 'pem' }).toString() }))
})

test('a certificate does not outlive its CA', async () => {
  await using cluster = await openCluster()
  const pair = await createCa('default', { nowMs: cluster.clock.now(), durationMs: toMs('60d') })
  await cluster.create(Secret, {
    name: caSecretName,
    labels: { 'example.com/ca': 'true' },
    data: { 'tls.crt': encode(pair.certPem), 'tls.key': encode(pair.keyPem) },
  })
  await using _operator = await kopf.start(cluster)
  await cluster.create(Certificate, { name: 'shop', spec })
  await cluster.until(Certificate, 'shop', has('Ready', 'CAExpires'))
  await cluster.patch(Certificate, 'shop', { spec: { duration: '40d' } })
  await cluster.until(Certificate, 'shop', isIssued)
})

test('a failed write is repeated, and not counted as a renewal', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  const failure = { type: 'error', status: 500 } as const
  const fault = cluster.faults.add({ on: { verb: 'patch', resource: 'secrets' }, effect: failure })
  await cluster.create(Certificate, { name: 'shop', spec })
  await cluster.until(() => fault.hits > 1)
  cluster.faults.clear()
  const { status } = await cluster.until(Certificate, 'shop', isIssued, { timeout: '15m' })
  assert.equal(status?.renewals, 0)
  assert.equal(status?.serial, (await readSecret(cluster)).certificate.serialNumber.toLowerCase())
})

test('the Secret is deleted with its Certificate, and the CA stays', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  await createIssued(cluster)
  await cluster.delete(Certificate, 'shop')
  await cluster.untilGone(Certificate, 'shop')
  await cluster.untilGone(Secret, 'shop-tls')
  assert.ok(await cluster.get(Secret, caSecretName))
})

test('no key is in the log, in the status or in an Event', async () => {
  await using cluster = await openCluster()
  await using _operator = await kopf.start(cluster)
  const certificate = await createIssued(cluster)
  await cluster.settled()
  const texts = [...cluster.logs, JSON.stringify(certificate), JSON.stringify(await cluster.events(certificate))]
  assert.ok(cluster.logs.some((line) => line.includes('Issuing a certificate for shop.example.com')))
  for (const name of ['shop-tls', caSecretName]) {
    const { keyPem } = await readSecret(cluster, name)
    for (const secret of [keyPem.split('\n')[1] ?? '', encode(keyPem)]) {
      assert.ok(secret.length > 40)
      assert.ok(!texts.some((text) => text.includes(secret)), `the key of ${name} is visible`)
    }
  }
})

test('the API server refuses times that cannot work, and the name of the CA', async () => {
  await using cluster = await openCluster()
  const refusals = [
    [{ duration: '30d', renewBefore: '720h' }, 'renewBefore must be shorter than duration'],
    [{ duration: '60m', renewBefore: '1h' }, 'renewBefore must be shorter than duration'],
    [{ duration: '1000d' }, 'duration must be at most 366 days'],
    [{ duration: '3 months' }, 'spec.duration'],
    [{ secretName: caSecretName }, 'choose another name'],
    [{ secretName: 'shop..tls' }, 'spec.secretName'],
    [{ dnsNames: [] }, 'spec.dnsNames'],
    [{ dnsNames: ['*.*.example.com'] }, 'spec.dnsNames[0]'],
  ] as const
  for (const [fields, message] of refusals) {
    const wrong = { ...spec, ...fields, dnsNames: [...('dnsNames' in fields ? fields.dnsNames : spec.dnsNames)] }
    await assert.rejects(cluster.create(Certificate, { name: 'wrong', spec: wrong }), (error) => {
      return isUnprocessable(error) && error.message.includes(message)
    })
  }
})

test('the permissions in the manifests are enough', async () => {
  const manifests = [new URL('./manifests/operator.yaml', import.meta.url)]
  await using cluster = await startCluster({ manifests, authorization: 'rbac' })
  await using _operator = await kopf.start(await cluster.as({ serviceAccount: 'certificates-operator' }))
  const certificate = await createIssued(cluster, { duration: '9h', renewBefore: '3h' })
  await untilReissued(cluster, certificate, '9h')
  await cluster.patch(Certificate, 'shop', { spec: { secretName: 'web-tls' } })
  await cluster.untilGone(Secret, 'shop-tls')
  assert.deepEqual(cluster.requests.last({ status: 403 }), [])
})
