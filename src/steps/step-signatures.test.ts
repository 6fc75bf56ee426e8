import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type SignedStep, StepKeyring } from './step-signatures.ts'

const [oldKey, newKey] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)]

const step: SignedStep = {
  type: 'change',
  group: 'example.com',
  plural: 'databases',
  namespace: 'team-a',
  name: 'orders',
  uid: 'a2b1',
  key: 'backups/bucket',
  isDeletion: false,
  startedMs: 1_700_000_000_123,
  spec: 'digest',
  result: '"of-orders"',
}

test('a step signature is valid for the step it was made for', () => {
  const keyring = new StepKeyring([oldKey])
  const signature = keyring.sign(step)
  expect(signature).toMatch(/^v1\.[0-9a-f]{16}\.[\w-]{43}$/)
  expect(keyring.verify(step, signature)).toBe('valid')
  expect(keyring.verify({ ...step }, signature)).toBe('valid')
})

test.each<[keyof SignedStep, SignedStep[keyof SignedStep]]>([
  ['type', 'reconcile'],
  ['group', 'example.org'],
  ['plural', 'tables'],
  ['namespace', 'team-b'],
  ['name', 'payroll'],
  ['uid', 'a2b2'],
  ['key', 'backups/schedule'],
  ['key', 'restores/bucket'],
  ['isDeletion', true],
  ['startedMs', 1_700_000_000_124],
  ['spec', 'another'],
  ['result', '"of-payroll"'],
])('a step signature is not valid for another %s', (field, value) => {
  const keyring = new StepKeyring([oldKey])
  expect(keyring.verify({ ...step, [field]: value }, keyring.sign(step))).toBe('mismatch')
})

test('two different signed steps never have the same encoding, even if text moves between adjacent fields', () => {
  const keyring = new StepKeyring([oldKey])
  const texts = ['group', 'plural', 'namespace', 'name', 'uid', 'key', 'spec', 'result'] as const
  const odd = fc.string({ unit: fc.constantFrom('a', '"', ',', '[', ']', '\\', '\u0000', '\ud800', 'é'), maxLength: 6 })
  const claims = fc.tuple(...texts.map(() => odd)).map((values) => {
    const fields = Object.fromEntries(texts.map((name, index) => [name, values[index]!]))
    return { ...step, ...fields } as SignedStep
  })
  fc.assert(
    fc.property(claims, claims, (one, other) => {
      const isSame = texts.every((name) => one[name] === other[name])
      return (keyring.verify(other, keyring.sign(one)) === 'valid') === isSame
    }),
    { numRuns: 500 },
  )
})

test('the first step key signs, and all step keys verify', () => {
  const before = new StepKeyring([oldKey])
  const rotated = new StepKeyring([newKey, oldKey])
  const after = new StepKeyring([newKey])
  expect(rotated.verify(step, before.sign(step))).toBe('valid')
  expect(after.verify(step, rotated.sign(step))).toBe('valid')
  expect(after.verify(step, before.sign(step))).toBe('unknown-key')
})

test.each([
  ['unsigned', undefined],
  ['mismatch', ''],
  ['mismatch', 'v1'],
  ['mismatch', 'x'.repeat(63)],
  ['mismatch', 'v'.repeat(1_000_000)],
  ['unknown-key', `v1.${'0'.repeat(16)}.${'A'.repeat(43)}`],
  ['mismatch', `v2.${'0'.repeat(16)}.${'A'.repeat(43)}`],
])('a value that is not a valid step signature gets the verdict: %s', (verdict, signature) => {
  expect(new StepKeyring([oldKey]).verify(step, signature)).toBe(verdict)
})

test('a step signature that is cut, extended or changed in one character is not valid', () => {
  const keyring = new StepKeyring([oldKey])
  const signature = keyring.sign(step)
  for (let at = 0; at < signature.length; at += 1) {
    const other = signature[at] === 'A' ? 'B' : 'A'
    expect(keyring.verify(step, signature.slice(0, at) + other + signature.slice(at + 1))).not.toBe('valid')
    expect(keyring.verify(step, signature.slice(0, at))).not.toBe('valid')
  }
  expect(keyring.verify(step, `${signature}A`)).not.toBe('valid')
})

test('the id of a step key reveals nothing of the key', () => {
  const [, id] = new StepKeyring([newKey]).sign(step).split('.')
  expect(Buffer.from(newKey).toString('hex')).not.toContain(id)
})
