import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConnectionInfo, type ConnectionInfoOptions } from './connection-info.ts'
import { pickOne, toCredential, toRenewed, Vault } from './vault.ts'

const of = (id: string, options: Partial<ConnectionInfoOptions> = {}) =>
  toCredential(id, new ConnectionInfo({ server: `https://${id}`, ...options }))

function vaultOf(...credentials: ReadonlyArray<ReturnType<typeof of>>): Vault {
  const vault = new Vault()
  for (const credential of credentials) vault.add(credential)
  return vault
}

const ids = ({ best }: Vault) => best.map(({ id }) => id)

test.each<[string, Vault, string[]]>([
  ['no credentials if it is empty', vaultOf(), []],
  ['its only credentials', vaultOf(of('a', { priority: -5 })), ['a']],
  [
    'the credentials with the highest priority',
    vaultOf(of('a', { priority: 1 }), of('b', { priority: 20 }), of('c')),
    ['b'],
  ],
  ['by the default priority 0 if credentials have none', vaultOf(of('a', { priority: -1 }), of('b')), ['b']],
  [
    'all credentials with the same highest priority',
    vaultOf(of('a', { priority: 2 }), of('b', { priority: 2 }), of('c')),
    ['a', 'b'],
  ],
  ['the last credentials of a login', vaultOf(of('a'), of('a', { token: 'new' })), ['a']],
])('the vault selects %s', (_, vault, expected) => {
  expect(ids(vault)).toEqual(expected)
})

test.each([
  [[], 0.5, undefined],
  [['a'], 0.99, 'a'],
  [['a', 'b'], 0, 'a'],
  [['a', 'b'], 0.99, 'b'],
])('a pick from %j with the random number %d is %s', (choices, chance, expected) => {
  expect(pickOne(choices, () => chance)).toBe(expected)
})

test('expired credentials leave the vault, can be put again, and the earliest expiration is known', () => {
  const [early, late] = [of('a', { expiration: new Date(1000) }), of('b', { expiration: new Date(2000) })]
  const vault = vaultOf(early, late, of('c', { priority: -1 }))
  expect(vault.expiresMs).toBe(1000)
  vault.expire(999)
  expect(ids(vault)).toEqual(['a', 'b'])
  vault.expire(1000)
  expect(ids(vault)).toEqual(['b'])
  expect(vault.canAdd(early, 1000)).toBe(false)
  expect(vault.canAdd(early, 999)).toBe(true)
  vault.expire(2000)
  expect(ids(vault)).toEqual(['c'])
  expect(vault.expiresMs).toBe(Number.POSITIVE_INFINITY)
})

test('the vault does not take the last three refused credentials again from the same login', () => {
  const tokens = ['one', 'two', 'three', 'four'].map((token) => of('a', { token }))
  const vault = vaultOf()
  for (const credential of tokens) {
    vault.add(credential)
    vault.reject(credential)
  }
  expect(vault.best).toEqual([])
  expect(tokens.map((one) => vault.canAdd(one, 0))).toEqual([true, false, false, false])
  expect(vault.canAdd(of('a', { token: 'four' }), 0)).toBe(false)
  const elsewhere = toCredential('b', new ConnectionInfo({ server: 'https://a', token: 'four' }))
  expect(vault.canAdd(elsewhere, 0)).toBe(true)
  vault.clearRejected()
  expect(vault.canAdd(tokens[3]!, 0)).toBe(true)
})

test('credentials that are refused late do not remove their replacement from the vault', () => {
  const [old, fresh] = [of('a', { token: 'old' }), of('a', { token: 'new' })]
  const vault = vaultOf(old, fresh)
  vault.reject(old)
  expect(vault.best).toEqual([fresh])
})

test('credentials in files are read, and are recognized as new when the file changes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kopf-vault-'))
  const tokenPath = join(folder, 'token')
  try {
    writeFileSync(tokenPath, 'one\n')
    const first = of('a', { tokenPath, token: 'ignored' })
    expect(first.resolved.reveal()).toEqual({ server: 'https://a', token: 'one' })
    expect(toRenewed(first)).toBeUndefined()
    writeFileSync(tokenPath, 'two\n')
    const second = toRenewed(first)
    expect(second?.resolved.reveal()).toMatchObject({ token: 'two' })
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

test('the fingerprint of credentials does not reveal them', () => {
  expect(of('a', { token: 'hush' }).fingerprint).not.toContain('hush')
  expect(of('a', { token: 'hush' }).fingerprint).toBe(of('a', { token: 'hush' }).fingerprint)
  expect(of('a', { token: 'hush' }).fingerprint).not.toBe(of('a', { token: 'hash' }).fingerprint)
})
