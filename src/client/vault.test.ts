import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConnectionInfo, type ConnectionInfoOptions } from './credentials.ts'
import { pickOne, toCredential, toRenewed, Vault } from './vault.ts'

const of = (id: string, options: Partial<ConnectionInfoOptions> = {}) =>
  toCredential(id, new ConnectionInfo({ server: `https://${id}`, ...options }))

function vaultOf(...credentials: ReadonlyArray<ReturnType<typeof of>>): Vault {
  const vault = new Vault()
  for (const credential of credentials) vault.put(credential)
  return vault
}

const ids = ({ best }: Vault) => best.map(({ id }) => id)

test.each<[string, Vault, string[]]>([
  ['nobody', vaultOf(), []],
  ['the only one', vaultOf(of('a', { priority: -5 })), ['a']],
  ['the highest priority', vaultOf(of('a', { priority: 1 }), of('b', { priority: 20 }), of('c')), ['b']],
  ['0 where none is told', vaultOf(of('a', { priority: -1 }), of('b')), ['b']],
  ['all equals', vaultOf(of('a', { priority: 2 }), of('b', { priority: 2 }), of('c')), ['a', 'b']],
  ['the last of one login', vaultOf(of('a'), of('a', { token: 'new' })), ['a']],
])('the best is %s', (_, vault, expected) => {
  expect(ids(vault)).toEqual(expected)
})

test.each([
  [[], 0.5, undefined],
  [['a'], 0.99, 'a'],
  [['a', 'b'], 0, 'a'],
  [['a', 'b'], 0.99, 'b'],
])('of %j with the chance %d it is %s', (choices, chance, expected) => {
  expect(pickOne(choices, () => chance)).toBe(expected)
})

test('what is over goes, and may come back; the first end is known before', () => {
  const [early, late] = [of('a', { expiration: new Date(1000) }), of('b', { expiration: new Date(2000) })]
  const vault = vaultOf(early, late, of('c', { priority: -1 }))
  expect(vault.expiresMs).toBe(1000)
  vault.expire(999)
  expect(ids(vault)).toEqual(['a', 'b'])
  vault.expire(1000)
  expect(ids(vault)).toEqual(['b'])
  expect(vault.canTake(early, 1000)).toBe(false)
  expect(vault.canTake(early, 999)).toBe(true)
  vault.expire(2000)
  expect(ids(vault)).toEqual(['c'])
  expect(vault.expiresMs).toBe(Number.POSITIVE_INFINITY)
})

test('the last three that were refused are not taken again, from the login that gave them', () => {
  const tokens = ['one', 'two', 'three', 'four'].map((token) => of('a', { token }))
  const vault = vaultOf()
  for (const credential of tokens) {
    vault.put(credential)
    vault.refuse(credential)
  }
  expect(vault.best).toEqual([])
  expect(tokens.map((one) => vault.canTake(one, 0))).toEqual([true, false, false, false])
  expect(vault.canTake(of('a', { token: 'four' }), 0)).toBe(false)
  const elsewhere = toCredential('b', new ConnectionInfo({ server: 'https://a', token: 'four' }))
  expect(vault.canTake(elsewhere, 0)).toBe(true)
  vault.forgive()
  expect(vault.canTake(tokens[3]!, 0)).toBe(true)
})

test('one that is refused late does not take away what has come in its place', () => {
  const [old, fresh] = [of('a', { token: 'old' }), of('a', { token: 'new' })]
  const vault = vaultOf(old, fresh)
  vault.refuse(old)
  expect(vault.best).toEqual([fresh])
})

test('what is in files counts, and is seen when it is renewed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kopf-vault-'))
  const tokenPath = join(folder, 'token')
  try {
    writeFileSync(tokenPath, 'one\n')
    const first = of('a', { tokenPath, token: 'ignored' })
    expect(first.read.reveal()).toEqual({ server: 'https://a', token: 'one' })
    expect(toRenewed(first)).toBeUndefined()
    writeFileSync(tokenPath, 'two\n')
    const second = toRenewed(first)
    expect(second?.read.reveal()).toMatchObject({ token: 'two' })
    expect(second?.given).toBe(first.given)
    writeFileSync(tokenPath, '')
    expect(toRenewed(first)).toBeUndefined()
    rmSync(tokenPath)
    expect(toRenewed(first)).toBeUndefined()
    expect(() => of('a', { tokenPath })).toThrow('is not there')
    expect(toRenewed(of('a', { token: 'x' }))).toBeUndefined()
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a fingerprint shows nothing', () => {
  expect(of('a', { token: 'hush' }).fingerprint).not.toContain('hush')
  expect(of('a', { token: 'hush' }).fingerprint).toBe(of('a', { token: 'hush' }).fingerprint)
  expect(of('a', { token: 'hush' }).fingerprint).not.toBe(of('a', { token: 'hash' }).fingerprint)
})
