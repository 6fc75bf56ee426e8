import { describe, expect, test } from 'vitest'
import { type Condition, checkCondition, withCondition } from './conditions.ts'

const ready: Condition = {
  type: 'Ready',
  status: 'True',
  reason: 'Running',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  observedGeneration: 1,
}
const other: Condition = { ...ready, type: 'Other' }
const said = { type: 'Ready', status: 'True', reason: 'Running', message: '' } as const
const nowMs = Date.parse('2026-02-02T02:02:02.999Z')
const now = '2026-02-02T02:02:02Z'

describe('conditions', () => {
  test.each<[string, Partial<Parameters<typeof withCondition>[1]>, Partial<Condition>]>([
    ['with another status', { status: 'False', generation: 1 }, { status: 'False', lastTransitionTime: now }],
    ['with another reason', { reason: 'Other', generation: 1 }, { reason: 'Other' }],
    ['with another message', { message: 'x', generation: 1 }, { message: 'x' }],
    ['of another generation', { generation: 2 }, { observedGeneration: 2 }],
    ['without a generation', { message: 'x', generation: undefined }, { message: 'x' }],
  ])('a condition %s replaces the previous one', (_, wanted, expected) => {
    const list = withCondition([ready, other], { ...said, nowMs, generation: 1, ...wanted })
    expect(list).toEqual([{ ...ready, ...expected }, other])
  })

  test('a missing condition is added', () => {
    const list = withCondition([other], { ...said, nowMs, generation: 3 })
    expect(list).toEqual([other, { ...said, lastTransitionTime: now, observedGeneration: 3 }])
  })

  test.each<[string, Condition, number | undefined]>([
    ['the same', ready, 1],
    ['the same without a generation', { ...ready, observedGeneration: undefined } as never, 2],
    ['the same, on an object without generations', ready, undefined],
    ['the same without a message', { ...ready, message: undefined } as never, 1],
  ])('a condition leaves the list unchanged if it is %s', (_, current, generation) => {
    const list = [other, current]
    expect(withCondition(list, { ...said, nowMs, generation })).toBe(list)
  })

  test('a condition is found among malformed entries', () => {
    const odd = [null, 'x', other] as unknown as Condition[]
    expect(withCondition(odd, { ...said, nowMs, generation: 1 })).toHaveLength(4)
  })
})

describe('given conditions', () => {
  test.each<[unknown, string]>([
    [true, 'True'],
    [false, 'False'],
    ['Unknown', 'Unknown'],
    ['True', 'True'],
  ])('the condition status %j is written as %s', (status, expected) => {
    expect(checkCondition('example.com/Ready', status, 'R').status).toBe(expected)
  })

  test('the message of a condition is cut between characters if it is too long', () => {
    expect(checkCondition('Ready', true, 'R', `${'x'.repeat(32_767)}💥`).message).toBe('x'.repeat(32_767))
  })

  test.each([
    ['', 'R'],
    ['Example.Com/Ready', 'R'],
    ['-Ready', 'R'],
    ['Ready', '1st'],
    ['Ready', 'with space'],
    ['Ready', 'x'.repeat(1025)],
  ])('the condition type %j with the reason %j is refused', (type, reason) => {
    expect(() => checkCondition(type, true, reason)).toThrow(expect.objectContaining({ code: 'KOPF_CONDITION' }))
  })
})
