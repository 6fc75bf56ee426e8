import { describe, expect, test } from 'vitest'
import { type AccessRule, findMissing, formatRules, type RequiredRule, toRules } from './rbac-rules.ts'

const need: RequiredRule = { group: 'example.com', resource: 'widgets', verbs: ['list', 'watch', 'patch'] }
const rule: AccessRule = { apiGroups: ['example.com'], resources: ['widgets'], verbs: ['list', 'watch', 'patch'] }

describe('missing permissions', () => {
  test.each<[string, readonly AccessRule[], readonly string[]]>([
    ['none if one rule grants all', [rule], []],
    [
      'none if several rules grant all',
      [
        { ...rule, verbs: ['list', 'watch'] },
        { ...rule, verbs: ['patch'] },
      ],
      [],
    ],
    ['none if all verbs are granted', [{ ...rule, verbs: ['*'] }], []],
    ['none if everything is granted', [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }], []],
    ['all without rules', [], ['list', 'watch', 'patch']],
    ['the verb that no rule grants', [{ ...rule, verbs: ['list', 'watch'] }], ['patch']],
    ['all if the group differs', [{ ...rule, apiGroups: [''] }], ['list', 'watch', 'patch']],
    ['all if the resource differs', [{ ...rule, resources: ['widgets/status'] }], ['list', 'watch', 'patch']],
    ['all if the rule is limited to resource names', [{ ...rule, resourceNames: ['one'] }], ['list', 'watch', 'patch']],
    ['none if the list of resource names is empty', [{ ...rule, resourceNames: [] }], []],
  ])('the missing permissions are %s', (_what, rules, verbs) => {
    expect(findMissing([need], rules)).toEqual(verbs.length === 0 ? [] : [{ ...need, verbs }])
  })
})

test('rules are written as YAML, with one rule for all resources with the same verbs', () => {
  const others: RequiredRule[] = [
    { group: 'example.com', resource: 'gadgets', verbs: ['list', 'watch', 'patch'] },
    { group: 'example.com', resource: 'gadgets', verbs: ['list', 'watch', 'patch'] },
    { group: '', resource: 'events', verbs: ['create'] },
  ]
  expect(formatRules([need, ...others])).toBe(
    'rules: [{apiGroups: ["example.com"], resources: ["widgets", "gadgets"], verbs: ["list", "watch", "patch"]}, ' +
      '{apiGroups: [""], resources: ["events"], verbs: ["create"]}]',
  )
})

describe('rules of a role', () => {
  const rulesOf = (...needs: RequiredRule[]) => toRules(needs).map(({ why: _, ...rule }) => rule)

  test('the rules of a role include optional verbs, in the conventional order', () => {
    expect(rulesOf({ ...need, optionalVerbs: ['get'] })).toEqual([
      { ...rule, verbs: ['get', 'list', 'watch', 'patch'] },
    ])
    expect(rulesOf({ group: 'apps', resource: 'deployments/status', verbs: [], optionalVerbs: ['patch'] })).toEqual([
      { apiGroups: ['apps'], resources: ['deployments/status'], verbs: ['patch'] },
    ])
  })

  test('the rules of a role have one rule per resource and merge equal rules', () => {
    const seen = { ...need, verbs: ['list', 'watch'] }
    expect(rulesOf(seen, need, seen)).toEqual([rule])
    expect(rulesOf(need, { ...need, resource: 'gadgets' })).toEqual([{ ...rule, resources: ['widgets', 'gadgets'] }])
    expect(rulesOf(need, { ...need, group: 'example.org' })).toEqual([
      { ...rule, apiGroups: ['example.com', 'example.org'] },
    ])
  })

  test('the rules of a role never grant more by merging', () => {
    const other = { ...need, group: 'example.org', resource: 'gadgets' }
    expect(rulesOf(need, { ...need, resource: 'gadgets' }, other)).toEqual([
      { ...rule, resources: ['widgets', 'gadgets'] },
      { apiGroups: ['example.org'], resources: ['gadgets'], verbs: need.verbs },
    ])
  })

  test('the rules of a role use resource names where possible, and omit them for verbs granted on all objects', () => {
    const named = { ...need, names: ['one'] }
    expect(rulesOf(named)).toEqual([{ ...rule, resourceNames: ['one'] }])
    expect(rulesOf({ ...need, verbs: ['list', 'watch'] }, named)).toEqual([
      { ...rule, verbs: ['list', 'watch'] },
      { ...rule, resourceNames: ['one'], verbs: ['patch'] },
    ])
  })

  test('the rules of a role list all their reasons', () => {
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
