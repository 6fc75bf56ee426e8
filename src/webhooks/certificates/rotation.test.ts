import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { emptyKeyring, type Keyring, readKeyring, toSecretData } from './keyring.ts'
import { planRotation, rotate } from './rotation.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const t0 = Date.UTC(2030, 0, 1)
const options = { hosts: ['web.shop.svc'], commonName: 'web', caLifetimeMs: 360 * dayMs, certLifetimeMs: 90 * dayMs }

const rotateAt = (keyring: Keyring, nowMs: number) => rotate(keyring, { ...options, nowMs })

/** Reads the keyring from its Secret data, like another replica. */
const reread = (keyring: Keyring, nowMs: number) => readKeyring(toSecretData(keyring), { ...options, nowMs })

let fresh: Keyring

beforeAll(async () => {
  fresh = (await rotateAt(emptyKeyring, t0)).keyring
})

test('an empty keyring gets an authority that signs at once', async () => {
  const { steps } = await rotateAt(emptyKeyring, t0)
  expect(steps).toEqual(['add', 'sign'])
  expect(reread(fresh, t0).problems).toEqual([])
})

test('a keyring that was written is read unchanged', () => {
  const { keyring } = reread(fresh, t0)
  expect(toSecretData(keyring)).toEqual(toSecretData(fresh))
  expect(planRotation(keyring)).toEqual(planRotation(fresh))
})

test('a new keyring needs no rotation', async () => {
  expect(await rotateAt(fresh, t0 + dayMs)).toEqual({ keyring: fresh, steps: [] })
})

test('a certificate is renewed by the same authority with a third of its life left', async () => {
  expect(planRotation(fresh)).toEqual({ step: 'sign', atMs: t0 + 60 * dayMs })
  const { keyring, steps } = await rotateAt(fresh, t0 + 60 * dayMs)
  expect(steps).toEqual(['sign'])
  expect(keyring.authorities).toEqual(fresh.authorities)
  expect(keyring.serving!.certPem).not.toBe(fresh.serving!.certPem)
  expect(keyring.serving!.expiresMs).toBe(t0 + 150 * dayMs)
})

describe('rotation of an authority', () => {
  const dueMs = t0 + 240 * dayMs
  let old: Keyring
  let added: Keyring
  let signed: Keyring

  beforeAll(async () => {
    old = (await rotateAt(fresh, t0 + 200 * dayMs)).keyring
    added = (await rotateAt(old, dueMs)).keyring
    signed = (await rotateAt(added, dueMs + hourMs)).keyring
  })

  test('an authority with a third of its life left gets a successor, and the served certificate stays', () => {
    expect(planRotation(old)).toEqual({ step: 'add', atMs: dueMs })
    expect(added.authorities).toHaveLength(2)
    expect(added.authorities[0]).toEqual(old.authorities[0])
    expect(added.serving).toEqual(old.serving)
  })

  test('a new authority signs an hour after it was added', () => {
    expect(planRotation(added)).toEqual({ step: 'sign', atMs: dueMs + hourMs })
    expect(signed.authorities).toEqual(added.authorities)
    expect(signed.serving!.issuerPem).toBe(added.signer!.certPem)
  })

  test('an old authority is trusted for another hour', async () => {
    expect(planRotation(signed)).toEqual({ step: 'drop', atMs: dueMs + 2 * hourMs })
    const { keyring, steps } = await rotateAt(signed, dueMs + 2 * hourMs)
    expect(steps).toEqual(['drop'])
    expect(keyring.authorities.map(({ certPem }) => certPem)).toEqual([added.signer!.certPem])
    expect(keyring.serving).toEqual(signed.serving)
    expect(planRotation(keyring)).toMatchObject({ step: 'sign' })
  })

  test('an old authority and its successor have different names', () => {
    const [one, other] = added.authorities.map(({ certPem }) => new X509Certificate(certPem).subject)
    expect(one).not.toBe(other)
  })

  test.each([
    [-5, 5],
    [5, -5],
  ])('an authority waits at least 50 minutes with clocks that are %d and %d minutes off', async (one, other) => {
    const dueNow = dueMs + 10 * minuteMs
    const { keyring } = await rotateAt(old, dueNow + one * minuteMs)
    expect(keyring.authorities).toHaveLength(2)
    const soonMs = dueNow + 49 * minuteMs + other * minuteMs
    expect((await rotateAt(reread(keyring, soonMs).keyring, soonMs)).steps).toEqual([])
    const lateMs = dueNow + 71 * minuteMs + other * minuteMs
    expect((await rotateAt(reread(keyring, lateMs).keyring, lateMs)).steps).toEqual(['sign'])
  })
})

test('a certificate that is about to expire is renewed before all clients trust the new authority', async () => {
  const lateMs = t0 + 90 * dayMs - 30 * minuteMs
  const { keyring, steps } = await rotateAt({ ...fresh, signer: undefined }, lateMs)
  expect(steps).toEqual(['add'])
  expect(planRotation(keyring)).toEqual({ step: 'sign', atMs: fresh.serving!.expiresMs - 15 * minuteMs })
})

test('expired certificates are replaced at once after a long sleep', async () => {
  const nowMs = t0 + 400 * dayMs
  const { keyring, steps } = await rotateAt(reread(fresh, nowMs).keyring, nowMs)
  expect(steps).toEqual(['add', 'sign'])
  expect(reread(keyring, nowMs).problems).toEqual([])
  expect(keyring.authorities).toHaveLength(1)
})

test('a certificate does not outlive its authority', async () => {
  const short = { ...options, caLifetimeMs: 100 * dayMs, nowMs: t0 }
  const { keyring } = await rotate(emptyKeyring, short)
  const later = await rotate(keyring, { ...short, nowMs: t0 + 60 * dayMs })
  expect(later.steps).toEqual(['sign'])
  expect(later.keyring.serving!.expiresMs).toBe(keyring.signer!.expiresMs)
})

describe('invalid keyrings', () => {
  const other = { ...options, hosts: ['other.shop.svc'] }
  let data: Record<string, string>
  let stranger: Record<string, string>

  beforeAll(async () => {
    data = { ...toSecretData(fresh) }
    stranger = { ...toSecretData((await rotate(emptyKeyring, { ...options, nowMs: t0 })).keyring) }
  })

  const garbage = Buffer.from('garbage').toString('base64')

  test.each([
    ['an invalid certificate', () => ({ 'tls.crt': garbage }), '"tls.crt" is not a certificate', ['sign']],
    ['an invalid key', () => ({ 'tls.key': '' }), '"tls.key" is not a private key', ['sign']],
    [
      'the key of another certificate',
      () => ({ 'tls.key': stranger['tls.key']! }),
      '"tls.key" is not the key of "tls.crt"',
      ['sign'],
    ],
    [
      'the certificate of another authority',
      () => ({ 'tls.crt': stranger['tls.crt']!, 'tls.key': stranger['tls.key']! }),
      '"tls.crt" is not signed by a CA in "ca.crt"',
      ['sign'],
    ],
    ['an invalid authority', () => ({ 'ca.crt': garbage }), '"ca.crt" has no valid CA certificate', ['add', 'sign']],
    [
      'a server certificate as its authority',
      () => ({ 'ca.crt': data['tls.crt']! }),
      '"ca.crt" has no',
      ['add', 'sign'],
    ],
    [
      'the authority of another keyring',
      () => ({ 'ca.crt': stranger['ca.crt']! }),
      '"ca.key" is not the key',
      ['add', 'sign'],
    ],
    ['an authority without a key', () => ({ 'ca.key': '' }), '"ca.key" is not a private key', ['add']],
  ])('a keyring with %s is repaired', async (_, change, problem, steps) => {
    const { keyring, problems } = readKeyring({ ...data, ...change() }, { ...options, nowMs: t0 })
    expect(problems.join('\n')).toContain(problem)
    const rotated = await rotateAt(keyring, t0)
    expect(rotated.steps).toEqual(steps)
    expect(reread(rotated.keyring, t0).problems).toEqual([])
  })

  test('a keyring with a certificate for other names is not served', () => {
    const { keyring, problems } = readKeyring(data, { ...other, nowMs: t0 })
    expect(problems).toEqual(['"tls.crt" is not valid for other.shop.svc'])
    expect(keyring.serving).toBeUndefined()
  })

  test.each([
    ['from the past', t0 + 91 * dayMs],
    ['from the future', t0 - 2 * hourMs],
  ])('a keyring with a certificate %s is not valid', (_, nowMs) => {
    expect(readKeyring(data, { ...options, nowMs }).problems.join()).toContain('"tls.crt" has expired, or is not valid')
  })

  test('the problems of a keyring do not reveal its content', () => {
    const canary = Buffer.from('-----BEGIN PRIVATE KEY-----\ncanary').toString('base64')
    const bad = { 'ca.crt': canary, 'ca.key': canary, 'tls.crt': canary, 'tls.key': canary }
    expect(readKeyring(bad, { ...options, nowMs: t0 }).problems.join()).not.toMatch(/canary|BEGIN/)
  })
})
