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
  // One password of 256 gives valid padding. An `expect` for each of them would take most of the time.
  const other = Array.from({ length: 1000 }, (_, index) => messageOf({ key, passphrase: `wrong-${index}` })).filter(
    (message) => !message.includes('"password" is missing or wrong'),
  )
  expect(other).toEqual([])
})

function messageOf(options: Parameters<typeof checkTls>[0]): string {
  try {
    checkTls(options)
    return 'accepted'
  } catch (error) {
    return (error as Error).message
  }
}
