import { expect, test } from 'vitest'
import { describeValue, isSensitiveName, maskText, maskTextOf, secretsOf } from './mask.ts'

test.each([
  'password',
  'dbPassword',
  'DB_PASSWORD',
  'passwordHash',
  'apiKey',
  'api-key',
  'token',
  'accessToken',
  'client_secret',
  'sshKey',
  'credentials',
  'tls.key',
])('the field %s is sensitive', (name) => expect(isSensitiveName(name)).toBe(true))

test.each([
  'name',
  'secretName',
  'secretKeyRef',
  'tokenSecretRef',
  'keyspaceSize',
  'passive',
  'replicas',
  'monkeys-count',
  'author',
])('the field %s is not sensitive', (name) => expect(isSensitiveName(name)).toBe(false))

test.each([
  ['password=hunter22 failed', 'password=[concealed] failed'],
  ['DB_PASSWORD: "hunter22"', 'DB_PASSWORD: [concealed]'],
  ['{"token":"hunter22","user":"ann"}', '{"token":[concealed],"user":"ann"}'],
  ['cannot connect to postgres://ann:hunter22@db/x', 'cannot connect to postgres://[concealed]@db/x'],
  ['cannot connect to postgres://ann:hunt/er22@db/x', 'cannot connect to postgres://[concealed]@db/x'],
  ['Authorization: Bearer abcdefgh12345', 'Authorization: [concealed] [concealed]'],
  ['ghp_abcdefghij1234567890 was refused', '[concealed] was refused'],
  ['key -----BEGIN RSA PRIVATE KEY-----\nMIIE', 'key [concealed]'],
  ['no secrets here', 'no secrets here'],
])('the text %s is shown as %s', (text, shown) => {
  expect(maskText(text, 200)).toBe(shown)
})

test('a JSON web token is concealed', () => {
  expect(maskText('got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def', 200)).toBe('got [concealed]')
})

test('a secret that begins before the end of the searched text is not shown in part', () => {
  const text = `${'x'.repeat(8170)} postgres://ann:hunter22@db`
  expect(maskText(text, 9000)).not.toContain('hunter')
})

test.each([
  [{ password: 'hunter22', user: 'ann' }, '{"password":[concealed],"user":"ann"}'],
  [{ password: { value: 'hunter22' } }, '{"password":[concealed]}'],
  [[{ name: 'DB_PASSWORD', value: 'hunter22' }], '[{"name":"DB_PASSWORD","value":[concealed]}]'],
  ['{"spec":{"password":"hunter22"}}', '"[JSON, 32 characters]"'],
  ['plain', '"plain"'],
  [null, 'null'],
])('the value %j is shown as %s', (value, shown) => {
  expect(describeValue(value, { isHidden: false, maxLength: 200 })).toBe(shown)
})

test('a value is cut', () => {
  expect(describeValue('x'.repeat(1000), { isHidden: false, maxLength: 200 })).toHaveLength(200)
  expect(describeValue(Array(100_000).fill(1), { isHidden: false, maxLength: 200 }).length).toBeLessThanOrEqual(200)
})

const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {},
  data: { any: Buffer.from('hunter22').toString('base64') },
}

test('the values of a Secret are concealed in texts about it, encoded and decoded', () => {
  expect(maskTextOf(secret, 'is it hunter22 or aHVudGVyMjI=?', 200)).toBe('is it [concealed] or [concealed]?')
})

test('the values of sensitive fields are concealed in texts about the object', () => {
  const body = {
    spec: { users: [{ name: 'ann', password: 'hunter-22' }], env: [{ name: 'API_KEY', value: 'k-4711' }] },
  }
  expect([...secretsOf(body)].sort()).toEqual(['hunter-22', 'k-4711'])
  expect(maskTextOf(body, 'wrong: hunter-22, k-4711', 200)).toBe('wrong: [concealed], [concealed]')
})

test('a text about an object with too many secrets is concealed as a whole', () => {
  const body = { spec: { passwords: Array.from({ length: 1000 }, (_, index) => `password-${index}`) } }
  expect(maskTextOf(body, 'anything', 200)).toBe('[concealed]')
})
