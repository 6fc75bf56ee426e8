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

/** As another replica would read it. */
const reread = (keyring: Keyring, nowMs: number) => readKeyring(toSecretData(keyring), { ...options, nowMs })

let fresh: Keyring

beforeAll(async () => {
  fresh = (await rotateAt(emptyKeyring, t0)).keyring
})

test('with nothing to begin with, an authority is made and signs at once', async () => {
  const { steps } = await rotateAt(emptyKeyring, t0)
  expect(steps).toEqual(['add', 'sign'])
  expect(reread(fresh, t0).problems).toEqual([])
})

test('what is written is read as it was', () => {
  const { keyring } = reread(fresh, t0)
  expect(toSecretData(keyring)).toEqual(toSecretData(fresh))
  expect(planRotation(keyring)).toEqual(planRotation(fresh))
})

test('nothing is due of what is new', async () => {
  expect(await rotateAt(fresh, t0 + dayMs)).toEqual({ keyring: fresh, steps: [] })
})

test('a certificate is signed anew with a third of its life left, by the same authority', async () => {
  expect(planRotation(fresh)).toEqual({ step: 'sign', atMs: t0 + 60 * dayMs })
  const { keyring, steps } = await rotateAt(fresh, t0 + 60 * dayMs)
  expect(steps).toEqual(['sign'])
  expect(keyring.authorities).toEqual(fresh.authorities)
  expect(keyring.serving!.certPem).not.toBe(fresh.serving!.certPem)
  expect(keyring.serving!.endMs).toBe(t0 + 150 * dayMs)
})

describe('an authority with a third of its life left', () => {
  const dueMs = t0 + 240 * dayMs
  let old: Keyring
  let added: Keyring
  let signed: Keyring

  beforeAll(async () => {
    old = (await rotateAt(fresh, t0 + 200 * dayMs)).keyring
    added = (await rotateAt(old, dueMs)).keyring
    signed = (await rotateAt(added, dueMs + hourMs)).keyring
  })

  test('gets a companion, and what is served stays', () => {
    expect(planRotation(old)).toEqual({ step: 'add', atMs: dueMs })
    expect(added.authorities).toHaveLength(2)
    expect(added.authorities[0]).toEqual(old.authorities[0])
    expect(added.serving).toEqual(old.serving)
  })

  test('signs no more: the new one does, an hour later', () => {
    expect(planRotation(added)).toEqual({ step: 'sign', atMs: dueMs + hourMs })
    expect(signed.authorities).toEqual(added.authorities)
    expect(signed.serving!.issuerPem).toBe(added.signer!.certPem)
  })

  test('is trusted for another hour', async () => {
    expect(planRotation(signed)).toEqual({ step: 'drop', atMs: dueMs + 2 * hourMs })
    const { keyring, steps } = await rotateAt(signed, dueMs + 2 * hourMs)
    expect(steps).toEqual(['drop'])
    expect(keyring.authorities.map(({ certPem }) => certPem)).toEqual([added.signer!.certPem])
    expect(keyring.serving).toEqual(signed.serving)
    expect(planRotation(keyring)).toMatchObject({ step: 'sign' })
  })

  test('is told from the new one by its name', () => {
    const [one, other] = added.authorities.map(({ certPem }) => new X509Certificate(certPem).subject)
    expect(one).not.toBe(other)
  })

  test.each([
    [-5, 5],
    [5, -5],
  ])('waits for 50 minutes at least, by clocks that are %d and %d minutes off', async (one, other) => {
    const dueNow = dueMs + 10 * minuteMs
    const { keyring } = await rotateAt(old, dueNow + one * minuteMs)
    expect(keyring.authorities).toHaveLength(2)
    const soonMs = dueNow + 49 * minuteMs + other * minuteMs
    expect((await rotateAt(reread(keyring, soonMs).keyring, soonMs)).steps).toEqual([])
    const lateMs = dueNow + 71 * minuteMs + other * minuteMs
    expect((await rotateAt(reread(keyring, lateMs).keyring, lateMs)).steps).toEqual(['sign'])
  })
})

test('a certificate that is about to expire does not wait for all to trust the new authority', async () => {
  const lateMs = t0 + 90 * dayMs - 30 * minuteMs
  const { keyring, steps } = await rotateAt({ ...fresh, signer: undefined }, lateMs)
  expect(steps).toEqual(['add'])
  expect(planRotation(keyring)).toEqual({ step: 'sign', atMs: fresh.serving!.endMs - 15 * minuteMs })
})

test('after a long sleep, what has expired is made anew at once', async () => {
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
  expect(later.keyring.serving!.endMs).toBe(keyring.signer!.endMs)
})

describe('what is not in order is as good as not there', () => {
  const other = { ...options, hosts: ['other.shop.svc'] }
  let data: Record<string, string>
  let stranger: Record<string, string>

  beforeAll(async () => {
    data = { ...toSecretData(fresh) }
    stranger = { ...toSecretData((await rotate(emptyKeyring, { ...options, nowMs: t0 })).keyring) }
  })

  const garbage = Buffer.from('garbage').toString('base64')

  test.each([
    ['no certificate', () => ({ 'tls.crt': garbage }), '"tls.crt" is no certificate', ['sign']],
    ['no key', () => ({ 'tls.key': '' }), '"tls.key" is no private key', ['sign']],
    ["another's key", () => ({ 'tls.key': stranger['tls.key']! }), '"tls.key" is not the key of "tls.crt"', ['sign']],
    [
      "another's certificate",
      () => ({ 'tls.crt': stranger['tls.crt']!, 'tls.key': stranger['tls.key']! }),
      '"tls.crt" is not signed by an authority in "ca.crt"',
      ['sign'],
    ],
    ['no authority', () => ({ 'ca.crt': garbage }), '"ca.crt" has no authority that is valid', ['add', 'sign']],
    ['a certificate for an authority', () => ({ 'ca.crt': data['tls.crt']! }), '"ca.crt" has no', ['add', 'sign']],
    ["another's authority", () => ({ 'ca.crt': stranger['ca.crt']! }), '"ca.key" is not the key', ['add', 'sign']],
    ['no key of the authority', () => ({ 'ca.key': '' }), '"ca.key" is no private key', ['add']],
  ])('%s', async (_, change, problem, steps) => {
    const { keyring, problems } = readKeyring({ ...data, ...change() }, { ...options, nowMs: t0 })
    expect(problems.join('\n')).toContain(problem)
    const rotated = await rotateAt(keyring, t0)
    expect(rotated.steps).toEqual(steps)
    expect(reread(rotated.keyring, t0).problems).toEqual([])
  })

  test('a certificate for other names', () => {
    const { keyring, problems } = readKeyring(data, { ...other, nowMs: t0 })
    expect(problems).toEqual(['"tls.crt" is not for other.shop.svc'])
    expect(keyring.serving).toBeUndefined()
  })

  test.each([
    ['of the past', t0 + 91 * dayMs],
    ['of the future', t0 - 2 * hourMs],
  ])('a certificate %s', (_, nowMs) => {
    expect(readKeyring(data, { ...options, nowMs }).problems.join()).toContain('"tls.crt" has expired, or is not valid')
  })

  test('what is wrong is told without a word of what is there', () => {
    const canary = Buffer.from('-----BEGIN PRIVATE KEY-----\ncanary').toString('base64')
    const bad = { 'ca.crt': canary, 'ca.key': canary, 'tls.crt': canary, 'tls.key': canary }
    expect(readKeyring(bad, { ...options, nowMs: t0 }).problems.join()).not.toMatch(/canary|BEGIN/)
  })
})
