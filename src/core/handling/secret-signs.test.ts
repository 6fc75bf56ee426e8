import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import type { Json } from '../../util/json.ts'
import { findSecret } from './secret-signs.ts'

const widget: KubeObject = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: {} }

describe('signs of secrets', () => {
  test.each<[string, Json, string]>([
    ['a field', { password: 'x' }, '"password" looks like a secret, by its name'],
    ['a field of any spelling', { 'DB_Api-Key': 'x' }, '"DB_Api-Key" looks like a secret, by its name'],
    ['a field that ends so', { a: { accessToken: 'x' } }, '"a.accessToken" looks like a secret, by its name'],
    ['items of a field', { tokens: [], token: ['x'] }, '"token[0]" looks like a secret, by its name'],
    ['a private key', { pem: '-----BEGIN RSA PRIVATE KEY-----\nMII' }, '"pem" looks like a private key'],
    ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc', 'it looks like a token (JWT)'],
    ['a header', 'Bearer abcdefgh1234', 'it looks like an authorization header'],
    ['a token of a service', { x: [`ghp_${'a'.repeat(36)}`] }, '"x[0]" looks like a token'],
    ['a URL', { url: 'postgres://admin:hunter2@db:5432/x' }, '"url" looks like a password in a URL'],
    ['a Secret', { a: [{ kind: 'Secret', data: {} }] }, '"a[0]" is a Secret with its data'],
  ])('%s', (_, json, sign) => {
    expect(findSecret(json, widget)).toBe(sign)
  })

  test.each<[string, Json]>([
    [
      'what points at one',
      { secretName: 'x', tokenUrl: 'https://x', passwordSecretRef: { name: 'x', key: 'password.txt' } },
    ],
    ['an empty one', { password: '', token: null, hasToken: true }],
    ['a Secret without data', { kind: 'Secret', metadata: { name: 'x' } }],
    ['a URL with a port', 'https://db.example.com:5432/a@b'],
    ['a certificate', '-----BEGIN CERTIFICATE-----'],
    ['a hash', '5eb63bbbe01eeed093cb22bb8f5acdc3'],
    ['numbers', [1, 2.5, true, null]],
  ])('none in %s', (_, json) => {
    expect(findSecret(json, widget)).toBeUndefined()
  })

  test('the content of the Secret at hand is found, encoded or not', () => {
    const secret: KubeObject = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {},
      data: { a: 'aHVudGVyMjI=', b: 'eA==' },
    }
    expect(findSecret({ x: 'aHVudGVyMjI=' }, secret)).toBe('"x" looks like the content of this Secret')
    expect(findSecret('user:hunter22', secret)).toBe('it looks like the content of this Secret')
    expect(findSecret('x', secret)).toBeUndefined()
    expect(findSecret('hunter22', widget)).toBeUndefined()
  })
})
