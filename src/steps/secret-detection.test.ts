import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../kube/objects.ts'
import type { Json } from '../util/json/json.ts'
import { findSecret } from './secret-detection.ts'

const widget: KubeObject = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: {} }

describe('detection of secrets', () => {
  test.each<[string, Json, string]>([
    ['a field named "password"', { password: 'x' }, '"password" looks like a secret, by its name'],
    [
      'a field with a secret name in any spelling',
      { 'DB_Api-Key': 'x' },
      '"DB_Api-Key" looks like a secret, by its name',
    ],
    [
      'a field whose name ends like a secret',
      { a: { accessToken: 'x' } },
      '"a.accessToken" looks like a secret, by its name',
    ],
    [
      'the items of a field with a secret name',
      { tokens: [], token: ['x'] },
      '"token[0]" looks like a secret, by its name',
    ],
    ['a private key', { pem: '-----BEGIN RSA PRIVATE KEY-----\nMII' }, '"pem" looks like a private key'],
    ['a JWT', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc', 'it looks like a token (JWT)'],
    ['an authorization header', 'Bearer abcdefgh1234', 'it looks like an authorization header'],
    ['a token of a service', { x: [`ghp_${'a'.repeat(36)}`] }, '"x[0]" looks like a token'],
    ['a URL with a password', { url: 'postgres://admin:hunter2@db:5432/x' }, '"url" looks like a password in a URL'],
    ['a Secret object with data', { a: [{ kind: 'Secret', data: {} }] }, '"a[0]" is a Secret with its data'],
  ])('a secret is detected in %s', (_, json, sign) => {
    expect(findSecret(json, widget)).toBe(sign)
  })

  test.each<[string, Json]>([
    [
      'a reference to a secret',
      { secretName: 'x', tokenUrl: 'https://x', passwordSecretRef: { name: 'x', key: 'password.txt' } },
    ],
    ['a secret field without a value', { password: '', token: null, hasToken: true }],
    ['a Secret without data', { kind: 'Secret', metadata: { name: 'x' } }],
    ['a URL with a port', 'https://db.example.com:5432/a@b'],
    ['a certificate', '-----BEGIN CERTIFICATE-----'],
    ['a hash', '5eb63bbbe01eeed093cb22bb8f5acdc3'],
    ['numbers', [1, 2.5, true, null]],
  ])('no secret is detected in %s', (_, json) => {
    expect(findSecret(json, widget)).toBeUndefined()
  })

  test('the content of the current Secret is detected, encoded or not', () => {
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
