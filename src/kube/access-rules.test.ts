import { describe, expect, test } from 'vitest'
import { type AccessRule, findMissing, formatRules, type Need, toRules } from './access-rules.ts'

const need: Need = { group: 'example.com', resource: 'widgets', verbs: ['list', 'watch', 'patch'] }
const rule: AccessRule = { apiGroups: ['example.com'], resources: ['widgets'], verbs: ['list', 'watch', 'patch'] }

describe('what is missing', () => {
  test.each<[string, readonly AccessRule[], readonly string[]]>([
    ['nothing, where a rule says it all', [rule], []],
    [
      'nothing, where several rules do',
      [
        { ...rule, verbs: ['list', 'watch'] },
        { ...rule, verbs: ['patch'] },
      ],
      [],
    ],
    ['nothing, where all verbs are allowed', [{ ...rule, verbs: ['*'] }], []],
    ['nothing, where everything is', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], []],
    ['all, without rules', [], ['list', 'watch', 'patch']],
    ['the verb that no rule has', [{ ...rule, verbs: ['list', 'watch'] }], ['patch']],
    ['all, where the group is another', [{ ...rule, apiGroups: [''] }], ['list', 'watch', 'patch']],
    ['all, where the resource is another', [{ ...rule, resources: ['widgets/status'] }], ['list', 'watch', 'patch']],
    ['all, where it is for some objects only', [{ ...rule, resourceNames: ['one'] }], ['list', 'watch', 'patch']],
    ['nothing, where the list of names is empty', [{ ...rule, resourceNames: [] }], []],
  ])('%s', (_what, rules, verbs) => {
    expect(findMissing([need], rules)).toEqual(verbs.length === 0 ? [] : [{ ...need, verbs }])
  })
})

test('rules are written as YAML, one for all resources with the same verbs', () => {
  const others: Need[] = [
    { group: 'example.com', resource: 'gadgets', verbs: ['list', 'watch', 'patch'] },
    { group: 'example.com', resource: 'gadgets', verbs: ['list', 'watch', 'patch'] },
    { group: '', resource: 'events', verbs: ['create'] },
  ]
  expect(formatRules([need, ...others])).toBe(
    'rules: [{apiGroups: ["example.com"], resources: ["widgets", "gadgets"], verbs: ["list", "watch", "patch"]}, ' +
      '{apiGroups: [""], resources: ["events"], verbs: ["create"]}]',
  )
})

describe('the rules of a role', () => {
  const rulesOf = (...needs: Need[]) => toRules(needs).map(({ why: _, ...rule }) => rule)

  test('have what is needed at times only, too, with the verbs as people order them', () => {
    expect(rulesOf({ ...need, also: ['get'] })).toEqual([{ ...rule, verbs: ['get', 'list', 'watch', 'patch'] }])
    expect(rulesOf({ group: 'apps', resource: 'deployments/status', verbs: [], also: ['patch'] })).toEqual([
      { apiGroups: ['apps'], resources: ['deployments/status'], verbs: ['patch'] },
    ])
  })

  test('say nothing twice: one resource has one rule, and equal rules are one', () => {
    const seen = { ...need, verbs: ['list', 'watch'] }
    expect(rulesOf(seen, need, seen)).toEqual([rule])
    expect(rulesOf(need, { ...need, resource: 'gadgets' })).toEqual([{ ...rule, resources: ['widgets', 'gadgets'] }])
    expect(rulesOf(need, { ...need, group: 'example.org' })).toEqual([
      { ...rule, apiGroups: ['example.com', 'example.org'] },
    ])
  })

  test('never grant by merging what nobody has asked for', () => {
    const other = { ...need, group: 'example.org', resource: 'gadgets' }
    expect(rulesOf(need, { ...need, resource: 'gadgets' }, other)).toEqual([
      { ...rule, resources: ['widgets', 'gadgets'] },
      { apiGroups: ['example.org'], resources: ['gadgets'], verbs: need.verbs },
    ])
  })

  test('are for named objects where that is enough, and not besides what is granted for all', () => {
    const named = { ...need, names: ['one'] }
    expect(rulesOf(named)).toEqual([{ ...rule, resourceNames: ['one'] }])
    expect(rulesOf({ ...need, verbs: ['list', 'watch'] }, named)).toEqual([
      { ...rule, verbs: ['list', 'watch'] },
      { ...rule, resourceNames: ['one'], verbs: ['patch'] },
    ])
  })

  test('tell all that they are for', () => {
    const reasons = toRules([
      { ...need, why: 'handled' },
      { ...need, verbs: ['delete'], why: 'children' },
      { ...need, resource: 'gadgets', why: 'handled' },
    ]).map(({ resources, why }) => [resources, why])
    expect(reasons).toEqual([
      [['widgets'], 'handled; children'],
      [['gadgets'], 'handled'],
    ])
  })
})
