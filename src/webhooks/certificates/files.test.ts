import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { checkTls } from './files.ts'

test('every wrong password of an encrypted key is reported as such, also one that decrypts the key into bytes with valid padding', () => {
  const { privateKey: key } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'sec1', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'right' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  expect(() => checkTls({ key, passphrase: 'right' })).not.toThrow()
  // One password of 256 gives valid padding.
  for (let index = 0; index < 1000; index += 1)
    expect(() => checkTls({ key, passphrase: `wrong-${index}` })).toThrow('"password" is missing or wrong')
})
