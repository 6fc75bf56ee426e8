import { expect, test } from 'vitest'
import { desiredAnnotation, groupOf, toFieldManager, toFingerprint, toReconcilerLabel } from './labels.ts'

const labelValue = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

test.each([
  [undefined, 'reconcile', 'reconcile'],
  ['databases', 'reconcile', 'databases.reconcile'],
])('the reconciler label of a child has the operator %s and the handler %s', (operator, id, label) => {
  expect(toReconcilerLabel(operator, id)).toBe(label)
})

test.each([
  ['a', 'x'.repeat(80)],
  ['My operator', 'sub/field.path'],
  [undefined, '_private'],
  [undefined, 'ü'],
])(
  'a reconciler label of the operator %s and the handler %s is shortened to a valid and unique value',
  (operator, id) => {
    const [one, another] = [toReconcilerLabel(operator, id), toReconcilerLabel(operator, `${id}'`)]
    expect(one).toMatch(labelValue)
    expect(another).not.toBe(one)
  },
)

test('a field manager has at most 128 printable characters', () => {
  expect(toFieldManager(undefined)).toBe('kopf')
  expect(toFieldManager('my operator')).toBe('my operator')
  expect(toFieldManager(`ü${'x'.repeat(200)}`)).toMatch(/^-x{127}$/)
})

test('the group of a child is in its annotation', () => {
  const marked = (fingerprint: string) => ({
    apiVersion: '',
    kind: '',
    metadata: { annotations: { [desiredAnnotation]: fingerprint } },
  })
  expect(groupOf(marked(toFingerprint(3, 'abc')))).toBe(3)
  expect(groupOf(marked('nonsense'))).toBe(0)
})
